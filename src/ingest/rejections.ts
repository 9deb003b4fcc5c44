/** Why events are rejected, as kinds of rules: few enough to be labels of a metric (contract: Ingest). */
export type RejectionReason =
  | 'json'
  | 'encoding'
  | 'size'
  | 'object'
  | 'required'
  | 'time'
  | 'retention'
  | 'organization'
  | 'value';

/** Events of one request that were rejected for the same reason. */
export interface Rejection {
  readonly reason: RejectionReason;
  readonly events: number;
  /** Pointer and rule of the first of them; never content. */
  readonly first: string;
}

type Counted = { -readonly [K in keyof Rejection]: Rejection[K] };

const ruleCharactersMax = 200;

/** The reason of an error that a mapper worded: `<JSON pointer>: <rule>`, several joined by `; `; the first counts. */
export function reasonOf(error: string): RejectionReason {
  if (error.startsWith(': ')) return reasonOfWhole(error);
  const first = firstOf(error);
  if (first.includes('retention')) return 'retention';
  if (first.startsWith('/message/org:')) return 'organization';
  if (first.endsWith(': is required')) return 'required';
  return first.startsWith('/time:') || first.startsWith('/message/timestamp:') ? 'time' : 'value';
}

/** The reason of an error about the event as a whole, whose pointer is empty. */
function reasonOfWhole(error: string): RejectionReason {
  if (error.startsWith(': is not acceptable JSON')) return 'json';
  if (error.startsWith(': is not valid UTF-8')) return 'encoding';
  if (error.startsWith(': must be at most')) return 'size';
  return error.startsWith(': must be an object') ? 'object' : 'value';
}

/** A rule may hold a semicolon: only one before a pointer ends it. */
const nextPointer = /; (?=[/:])/;

function firstOf(error: string): string {
  const end = error.search(nextPointer);
  return end === -1 ? error : error.slice(0, end);
}

/** Counts the rejected events of a request by reason. */
export class RejectionCounts {
  readonly #byReason = new Map<RejectionReason, Counted>();

  /** Counts one event by its error. */
  add(error: string): void {
    const reason = reasonOf(error);
    const known = this.#byReason.get(reason);
    if (known !== undefined) known.events += 1;
    else this.#byReason.set(reason, { reason, events: 1, first: firstOf(error).slice(0, ruleCharactersMax) });
  }

  /** Adds what another part of the same request counted. */
  addAll(rejections: readonly Rejection[]): void {
    for (const more of rejections) {
      const known = this.#byReason.get(more.reason);
      if (known !== undefined) known.events += more.events;
      else this.#byReason.set(more.reason, { ...more });
    }
  }

  list(): readonly Rejection[] {
    return [...this.#byReason.values()];
  }
}
