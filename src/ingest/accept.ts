import { traced } from '../base/observability/trace.ts';
import { Problem } from '../base/errors/problem.ts';
import type { Arrivals } from './arrivals.ts';
import type { BatchAnswer } from './answer-records.ts';
import { type Idempotency, sentOf } from './idempotency.ts';
import { LargeBodies } from './large-bodies.ts';
import { limits } from './limits.ts';
import type { WorkerPool } from './pool.ts';
import type { Rejection } from './rejections.ts';
import type { IngestRequest, MappedRequest } from './request.ts';
import type { FrameInput, MappedFrame } from './segment.ts';
import { SmallBodies } from './small-bodies.ts';
import type { Directory, Outcome } from './task.ts';
import type { Wal } from './wal.ts';

/**
 * Resolves when the accepted events are durable. Rejects with a Problem: 400 when no event was accepted (with
 * `errors`), too many were rejected or the body is malformed; 413, 422 for a reused key, 429, 500, 503.
 * (contract: Ingest)
 */
export type Accept = (request: IngestRequest) => Promise<BatchAnswer>;

interface Answered {
  readonly kind: 'answered';
  readonly sent: string;
  readonly answer: BatchAnswer;
}

interface Claim {
  readonly kind: 'claimed';
  answered(answer: BatchAnswer): Promise<void>;
  withdraw(): Promise<void>;
}

/** Answers to requests with an Idempotency-Key, shared by the servers of an installation. */
export interface SharedAnswers {
  /** Rejects with a 503 Problem if another server holds the key and does not answer in time. */
  claim(id: string, sent: string): Promise<Claim | Answered>;
  find(id: string): Promise<Answered | undefined>;
}

export interface AcceptOptions {
  /** Two pools, so that small bodies never wait for large ones. */
  readonly pools: { readonly small: WorkerPool; readonly large: WorkerPool };
  readonly wal: Pick<Wal, 'append'>;
  readonly arrivals: Arrivals;
  readonly idempotency: Idempotency;
  /** Undefined without Redis. */
  readonly sharedAnswers?: SharedAnswers | undefined;
  readonly bodyBytesMax: number;
  readonly directory: Directory;
  accepted(events: number): void;
  rejected(apiKey: string | undefined, rejections: readonly Rejection[]): void;
}

/** This Idempotency-Key stands for the SHA-256 of the body (contract: Ingest). */
const contentKey = 'body';

export function createAccept(options: AcceptOptions): Accept {
  const acceptor = new Acceptor(options);
  return (request) => acceptor.accept(request);
}

class Acceptor {
  readonly #options: AcceptOptions;
  readonly #small: SmallBodies;
  readonly #large: LargeBodies;

  constructor(options: AcceptOptions) {
    const { pools, directory, bodyBytesMax } = options;
    this.#options = options;
    this.#small = new SmallBodies({
      pool: pools.small,
      directory,
      append: (frames, requests) => this.#append(frames, requests),
    });
    this.#large = new LargeBodies({ pool: pools.large, directory, bodyBytesMax });
  }

  accept(request: IngestRequest): Promise<BatchAnswer> {
    const { idempotency } = this.#options;
    const asked = request.idempotency;
    if (asked === undefined) {
      if (isSmall(request)) return this.#storeSmall(request);
      return this.#process(request, (mapped) => this.#storePlain(request, mapped));
    }
    if (asked.key === contentKey) {
      return this.#process(request, (mapped) => this.#storeByContent(request, asked.apiKey, mapped));
    }
    const id = idempotency.id(asked.apiKey, asked.key);
    return idempotency.exclusively(id, () =>
      this.#process(request, (mapped) => this.#storeOnce(request, mapped, id)),
    );
  }

  async #process(
    request: IngestRequest,
    store: (mapped: MappedRequest) => Promise<BatchAnswer>,
  ): Promise<BatchAnswer> {
    const storeMapped = async (mapped: MappedRequest): Promise<BatchAnswer> => {
      try {
        return await store(mapped);
      } finally {
        mapped.memory.release();
      }
    };
    if (!isSmall(request)) return traced('large body', () => this.#large.serve(request, storeMapped));
    return storeMapped(await traced('small body', () => this.#small.map(request)));
  }

  async #storeSmall(request: IngestRequest): Promise<BatchAnswer> {
    const answer = this.#answerOf(request, await traced('small body', () => this.#small.map(request)));
    this.#options.accepted(answer.accepted);
    return answer;
  }

  /** The key is the hash of the body, which is known only after mapping. */
  async #storeByContent(request: IngestRequest, apiKey: string, mapped: MappedRequest): Promise<BatchAnswer> {
    const { idempotency } = this.#options;
    const sent = bodyDigest(request, mapped);
    if (sent === undefined) return this.#answerOf(request, mapped);
    const id = idempotency.idOfContent(apiKey, sent);
    return idempotency.exclusively(id, () => this.#storeOnce(request, mapped, id));
  }

  async #storeOnce(request: IngestRequest, mapped: MappedRequest, id: string): Promise<BatchAnswer> {
    const { idempotency } = this.#options;
    const sent = bodyDigest(request, mapped) ?? '';
    const before = idempotency.recall(id, sent);
    if (before === 'other') throw keyReused();
    if (before !== undefined) return before;
    const { sharedAnswers: shared } = this.#options;
    // A request that stores nothing needs no claim, but may still reuse a key.
    const claim = await (isAccepted(mapped.outcome) ? shared?.claim(id, sent) : shared?.find(id));
    if (claim?.kind === 'answered') {
      if (claim.sent !== sent) throw keyReused();
      return claim.answer;
    }
    const answer = this.#answerOf(request, mapped);
    const notes = idempotency.notes(id, sent, answer);
    try {
      await this.#appendMapped(mapped, notes, request);
    } catch (error) {
      await claim?.withdraw();
      throw error;
    }
    idempotency.remember(notes);
    // Before the client is answered: if the answer gets lost, the repeat may reach another server.
    await claim?.answered(answer);
    this.#options.accepted(answer.accepted);
    return answer;
  }

  async #storePlain(request: IngestRequest, mapped: MappedRequest): Promise<BatchAnswer> {
    const answer = this.#answerOf(request, mapped);
    await this.#appendMapped(mapped, '', request);
    this.#options.accepted(answer.accepted);
    return answer;
  }

  #appendMapped({ frames, memory }: MappedRequest, notes: string, request: IngestRequest): Promise<void> {
    return memory.lend(() => this.#append(withNotes(frames, notes), [request]));
  }

  async #append(frames: readonly FrameInput[], requests: readonly IngestRequest[]): Promise<void> {
    const { wal, arrivals } = this.#options;
    const organizations = new Set<string | undefined>();
    for (const { organization } of requests) organizations.add(organization?.id);
    const only = organizations.size === 1 ? [...organizations][0] : undefined;
    await arrivals.during(organizations, () => traced('log', () => wal.append(frames, only)));
  }

  #answerOf({ apiKey }: IngestRequest, mapped: MappedRequest): BatchAnswer {
    const { rejections = [] } = mapped.outcome;
    if (rejections.length > 0) this.#options.rejected(apiKey, rejections);
    return acceptedAnswer(mapped.outcome);
  }
}

/** The size of a compressed or OTLP body is unknown until it is decoded, so it counts as large. */
function isSmall({ encoding, otlp, body }: IngestRequest): boolean {
  return encoding === 'identity' && otlp === undefined && body.length <= limits.smallBodyBytesMax;
}

function bodyDigest({ form, adapter, org }: IngestRequest, { outcome }: MappedRequest): string | undefined {
  const hash = outcome.kind === 'answered' ? outcome.bodyHash : undefined;
  return hash === undefined ? undefined : sentOf(hash, form, adapter, org);
}

function keyReused(): Problem {
  const detail =
    'This Idempotency-Key was used for another body, Content-Type, from or org within the last 24 hours.';
  return new Problem('key_reused', detail);
}

function isAccepted(outcome: Outcome): boolean {
  return outcome.kind === 'answered' && !outcome.hasTooManyRejected && outcome.answer.accepted > 0;
}

function acceptedAnswer(outcome: Outcome): BatchAnswer {
  if (outcome.kind === 'problem') throw new Problem(outcome.code, outcome.detail);
  const { answer } = outcome;
  if (outcome.hasTooManyRejected) throw tooManyRejected(answer);
  if (answer.accepted > 0) return answer;
  const detail =
    answer.rejected === 0 ? 'The body contains no event.' : 'No event of the batch was accepted.';
  throw new Problem('nothing_accepted', detail, { members: { ...answer } });
}

/** Notes travel in the last frame, so they are durable exactly when the events are. */
function withNotes(frames: readonly MappedFrame[], notes: string): FrameInput[] {
  return frames.map((frame, index) => ({ ...frame, notes: index === frames.length - 1 ? notes : '' }));
}

function tooManyRejected(answer: BatchAnswer): Problem {
  const detail = `More than ${limits.rejectedEventsMax} events of the body were rejected, so nothing of it was stored.`;
  // Pieces mapped in parallel may have counted more.
  const rejected = limits.rejectedEventsMax + 1;
  return new Problem('too_many_events', detail, { members: { ...answer, accepted: 0, rejected } });
}
