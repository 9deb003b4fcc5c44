import { type Entry, hasExpired } from './entry.ts';

/** A policy from a time on, as an event in the tree states it; none can be added below a known checkpoint. */
export interface PolicyStatement {
  readonly seq: bigint;
  readonly recordedMicros: number;
  /** Undefined: for ever, or during a hold. */
  readonly days: number | undefined;
  readonly held: boolean;
}

/** Activities of statements (contract: Events). */
export const policyCodes: readonly number[] = [5013, 5014, 5015];

const dayMicros = 86_400_000_000;

export function policyIn(source: string): Pick<PolicyStatement, 'days' | 'held'> | undefined {
  let event: unknown;
  try {
    event = JSON.parse(source);
  } catch {
    return undefined;
  }
  const message = memberOf(event, 'message');
  const action = memberOf(message, 'action');
  const code = typeof action === 'object' ? memberOf(action, 'code') : action;
  if (typeof code !== 'number' || !policyCodes.includes(code)) return undefined;
  const policy = memberOf(memberOf(message, 'extra'), 'policy');
  const [days, held] = [memberOf(policy, 'days'), memberOf(policy, 'held')];
  if (typeof held !== 'boolean') return undefined;
  if (days === null) return { days: undefined, held };
  return typeof days === 'number' && Number.isInteger(days) && days > 0 ? { days, held } : undefined;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

export type Ending = 'recorded' | PolicyStatement;

/**
 * The policies by which events expired: the recorded day until the first statement, then each statement until
 * the next. An event expires at the end of the last day of its retention.
 */
export class PolicyHistory {
  readonly #statements: readonly PolicyStatement[];
  readonly #nowMicros: number;
  readonly #counts = new Map<Ending, number>();

  /** Events expired by `nowMicros` (Unix) may be removed. */
  constructor(statements: readonly PolicyStatement[], nowMicros: number) {
    this.#statements = statements.toSorted((a, b) => (a.seq < b.seq ? -1 : 1));
    this.#nowMicros = nowMicros;
  }

  /** Counts, so call once per event. */
  mayBeRemoved(entry: Entry): boolean {
    const ending = this.#endingOf(entry);
    if (ending === undefined) return false;
    this.#counts.set(ending, (this.#counts.get(ending) ?? 0) + 1);
    return true;
  }

  get removed(): readonly { readonly ending: Ending; readonly events: number }[] {
    const endings: Ending[] = ['recorded', ...this.#statements];
    return endings.flatMap((ending) => {
      const events = this.#counts.get(ending);
      return events === undefined ? [] : [{ ending, events }];
    });
  }

  #endingOf(entry: Entry): Ending | undefined {
    const [first] = this.#statements;
    const isBeforeAll = first === undefined || entry.seq < first.seq;
    if (isBeforeAll && hasExpired(entry, first?.recordedMicros ?? this.#nowMicros)) return 'recorded';
    return this.#statements.find((statement, index) => {
      const next = this.#statements[index + 1];
      // Recorded under a later policy.
      if (next !== undefined && next.seq <= entry.seq) return false;
      if (statement.held || statement.days === undefined) return false;
      const overMicros = (Math.floor(entry.time / dayMicros) + statement.days + 1) * dayMicros;
      return overMicros <= (next?.recordedMicros ?? this.#nowMicros);
    });
  }
}
