import { buffers } from '../base/buffer-pool.ts';
import { limits } from './limits.ts';
import { Problem } from '../base/problem.ts';
import type { Arrivals } from './arrivals.ts';
import type { BatchAnswer, Idempotency } from './idempotency.ts';
import { LargeBodies } from './large-bodies.ts';
import { frameOf, mapTask, outcomeOf, type TaskFacts } from './map-tasks.ts';
import type { WorkerPool } from './pool.ts';
import type { Rejection } from './rejections.ts';
import { type MappedRequest, errorsMaxOf, type IngestRequest } from './request.ts';
import type { FrameInput } from './segment.ts';
import type { MapResult, MapTask, Outcome, RequestKind } from './task.ts';
import type { Wal } from './wal.ts';

export interface Accept {
  /**
   * Resolves when the accepted events are durable. Rejects with a Problem: 400 when no event was accepted (with the
   * same `errors`), too many were rejected or the body is malformed, 413, 422 for a reused key, 429, 500, 503.
   * (contract: Ingest)
   */
  (request: IngestRequest): Promise<BatchAnswer>;
}

export interface AcceptOptions extends TaskFacts {
  /** For small bodies, and for those whose work may take long: neither waits for the other. */
  readonly pools: { readonly small: WorkerPool; readonly large: WorkerPool };
  readonly wal: Wal;
  readonly arrivals: Arrivals;
  readonly idempotency: Idempotency;
  /** Called for each durable batch with its accepted events, for metrics. */
  accepted(events: number): void;
  /** Called for each answered request, refused ones included, that had rejected events. */
  rejected(apiKey: string | undefined, rejections: readonly Rejection[]): void;
}

interface Pending {
  readonly request: IngestRequest;
  resolve(done: MappedRequest): void;
  reject(error: unknown): void;
}

const keep = (): void => undefined;

/** The Idempotency-Key that stands for the SHA-256 of the body (contract: Ingest). */
const contentKey = 'body';

/**
 * Gathers small requests into one task, so that many clients sending single events do not pay a thread hop and a log
 * frame each; a large one goes at once. While no group is with the workers, what arrived together goes together,
 * without waiting; else the next group gathers until that one is done, for 2 ms at most, or longer while many tasks
 * wait for a worker.
 */
export function createAccept(options: AcceptOptions): Accept {
  const { pools, wal, arrivals, idempotency } = options;
  const large = new LargeBodies({ pool: pools.large, facts: options });
  let gathered: Pending[] = [];
  let gatheredBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;
  let groupsMapping = 0;

  function dispatchGathered(): void {
    clearTimeout(timer);
    clearImmediate(immediate);
    timer = undefined;
    immediate = undefined;
    const group = gathered;
    gathered = [];
    gatheredBytes = 0;
    if (group.length === 0) return;
    groupsMapping += 1;
    void dispatch(group, () => {
      groupsMapping -= 1;
      dispatchGathered();
    });
  }

  /** While tasks queue up, fewer and larger ones serve the same requests sooner. */
  function dispatchInTime(): void {
    if (pools.small.queued() < limits.gatherQueuedTasks) dispatchGathered();
    else timer = setTimeout(dispatchInTime, limits.gatherDelayMsMax);
  }

  function submit(request: IngestRequest): Promise<MappedRequest> {
    const { length } = request.body;
    // What a compressed body holds is not known yet: it could be far more than others can wait for.
    const isSmall = request.encoding === 'identity' && length <= limits.smallBodyBytesMax;
    if (!isSmall) return large.map(request, request.organization?.id ?? request.apiKey ?? '');
    return new Promise((resolve, reject) => {
      gathered.push({ request, resolve, reject });
      gatheredBytes += length;
      if (gatheredBytes >= limits.gatherBytesMax || gathered.length >= limits.gatherRequestsMax)
        dispatchGathered();
      else if (groupsMapping === 0) immediate ??= setImmediate(dispatchGathered);
      else timer ??= setTimeout(dispatchInTime, limits.gatherDelayMsMax);
    });
  }

  /**
   * A lone request gives its buffer away. Bodies of a group are copied instead (they are small), so that when a
   * worker dies over one of them the others can be tried again without it.
   */
  function taskOfGroup(group: readonly Pending[]): MapTask {
    const alone = group.length === 1;
    const total = group.reduce((sum, { request }) => sum + request.body.length, 0);
    const input = alone ? (group[0] as Pending).request.body : new Uint8Array(buffers.take(total), 0, total);
    const ends = new Uint32Array(group.length);
    const kindOf = new Uint32Array(group.length);
    const kinds: RequestKind[] = [];
    let offset = 0;
    for (const [index, { request }] of group.entries()) {
      if (!alone) input.set(request.body, offset);
      offset += request.body.length;
      ends[index] = offset;
      kindOf[index] = kindAmong(kinds, request);
    }
    return mapTask(options, input, { ends, kindOf, kinds });
  }

  async function dispatch(group: readonly Pending[], mapped = () => {}): Promise<void> {
    try {
      const result = await pools.small.map(taskOfGroup(group)).finally(mapped);
      if (result.input) buffers.give(result.input);
      await settle(group, result);
    } catch (error) {
      const workerFailed = error instanceof Problem && error.code === 'internal';
      if (workerFailed && group.length > 1) for (const pending of group) await dispatch([pending]);
      else for (const pending of group) pending.reject(error);
    }
  }

  async function store(
    of: readonly Pick<Pending, 'request'>[],
    frames: readonly FrameInput[],
  ): Promise<void> {
    const organizations = new Set(of.map(({ request }) => request.organization?.id));
    const only = organizations.size === 1 ? [...organizations][0] : undefined;
    await arrivals.during(organizations, () => wal.append(frames, only));
  }

  async function settle(group: readonly Pending[], result: MapResult): Promise<void> {
    const shared: FrameInput[] = [];
    const apart = new Map<number, Omit<FrameInput, 'notes'>[]>();
    for (const block of result.blocks) {
      const { request } = block;
      if (request === undefined) shared.push({ ...frameOf(result, block), notes: '' });
      else apart.set(request, [...(apart.get(request) ?? []), frameOf(result, block)]);
    }
    // Requests that stand apart append for themselves; they need not wait for the others.
    for (const [index, pending] of group.entries()) {
      if (pending.request.idempotency) {
        const frames = apart.get(index) ?? [];
        pending.resolve({ outcome: outcomeOf(result, index), frames, release: keep });
      }
    }
    if (shared.length > 0) await store(group, shared);
    if (apart.size === 0) buffers.give(result.buffer);
    for (const [index, pending] of group.entries()) {
      pending.resolve({ outcome: outcomeOf(result, index), frames: [], release: keep });
    }
  }

  /** The answer of a batch with at least one good event, its events counted; otherwise throws why there is none. */
  function answerOf({ apiKey }: IngestRequest, outcome: Outcome): BatchAnswer {
    const { rejections = [] } = outcome;
    if (rejections.length > 0) options.rejected(apiKey, rejections);
    return acceptedOf(outcome);
  }

  /** Stores a mapped request under its id unless its answer is remembered. */
  async function storeOnce(
    request: IngestRequest,
    id: string,
    { outcome, frames }: MappedRequest,
  ): Promise<BatchAnswer> {
    const hash = outcome.kind === 'answered' ? (outcome.bodyHash ?? '') : '';
    const before = idempotency.recall(id, hash);
    if (before === 'other') {
      throw new Problem(
        'key_reused',
        'This Idempotency-Key was used for another body within the last 24 hours.',
      );
    }
    if (before) return before;
    const answer = answerOf(request, outcome);
    const notes = idempotency.notes(id, hash, answer);
    // The notes ride on the last frame: with the events they are durable together or not at all.
    const noted = frames.map((frame, index) => ({
      ...frame,
      notes: index === frames.length - 1 ? notes : '',
    }));
    await store([{ request }], noted);
    idempotency.remember(notes);
    options.accepted(answer.accepted);
    return answer;
  }

  async function storePlain(
    request: IngestRequest,
    { outcome, frames }: MappedRequest,
  ): Promise<BatchAnswer> {
    const answer = answerOf(request, outcome);
    const plain = frames.map((frame) => ({ ...frame, notes: '' }));
    if (plain.length > 0) await store([{ request }], plain);
    options.accepted(answer.accepted);
    return answer;
  }

  /** The key is what the body holds: nobody knows it before the body is mapped. */
  async function storeByContent(
    request: IngestRequest,
    apiKey: string,
    done: MappedRequest,
  ): Promise<BatchAnswer> {
    const hash = done.outcome.kind === 'answered' ? done.outcome.bodyHash : undefined;
    if (hash === undefined) return answerOf(request, done.outcome);
    // No key that a client can send has a line break.
    const id = idempotency.id(apiKey, `${contentKey}\n${hash}`);
    return idempotency.exclusively(id, () => storeOnce(request, id, done));
  }

  async function submitted(
    request: IngestRequest,
    then: (done: MappedRequest) => Promise<BatchAnswer>,
  ): Promise<BatchAnswer> {
    const done = await submit(request);
    const answer = await then(done);
    // Only then: what a failed append still does with them is not known.
    done.release();
    return answer;
  }

  return (request) => {
    const asked = request.idempotency;
    if (asked === undefined) return submitted(request, (done) => storePlain(request, done));
    if (asked.key === contentKey) {
      return submitted(request, (done) => storeByContent(request, asked.apiKey, done));
    }
    const id = idempotency.id(asked.apiKey, asked.key);
    return idempotency.exclusively(id, () => submitted(request, (done) => storeOnce(request, id, done)));
  };
}

/** Where among the kinds a request's is, added if it is new. */
function kindAmong(kinds: RequestKind[], request: IngestRequest): number {
  const { form, organization } = request;
  const apart = request.idempotency !== undefined;
  const errorsMax = errorsMaxOf(request);
  const known = kinds.findIndex(
    (kind) =>
      kind.organization === organization &&
      kind.form === form &&
      kind.apart === apart &&
      kind.errorsMax === errorsMax,
  );
  return known >= 0 ? known : kinds.push({ form, organization, apart, errorsMax }) - 1;
}

/** The answer of a batch with at least one good event; otherwise the Problem that says why there is none. */
function acceptedOf(outcome: Outcome): BatchAnswer {
  if (outcome.kind === 'problem') throw new Problem(outcome.code, outcome.detail);
  const { answer } = outcome;
  if (outcome.isEnded) {
    const detail = `More than ${limits.rejectedEventsMax} events of the body were rejected: the rest was not looked at, and nothing of it was stored.`;
    // Pieces that were under way at the same time may have counted more.
    const rejected = limits.rejectedEventsMax + 1;
    throw new Problem('too_many_events', detail, { members: { ...answer, accepted: 0, rejected } });
  }
  if (answer.accepted > 0) return answer;
  const detail = answer.rejected === 0 ? 'The body holds no event.' : 'No event of the batch was accepted.';
  throw new Problem('nothing_accepted', detail, { members: { ...answer } });
}
