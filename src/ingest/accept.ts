import { buffers } from '../base/buffer-pool.ts';
import { limits } from '../base/limits.ts';
import { Problem } from '../base/problem.ts';
import type { Arrivals } from './arrivals.ts';
import type { BatchAnswer, Idempotency } from './idempotency.ts';
import type { WorkerPool } from './pool.ts';
import type { FrameInput } from './segment.ts';
import {
  type BodyForm,
  type MapResult,
  type MapTask,
  type OrganizationFacts,
  type Outcome,
  type SharedDirectory,
  type RequestKind,
  tooManyEvents,
} from './task.ts';
import type { Wal } from './wal.ts';

/** One POST of source events, as the HTTP layer hands it over. */
export interface IngestRequest {
  /** The bytes as received; the buffer behind them is given away. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly form: BodyForm;
  readonly encoding: RequestKind['encoding'];
  /** Undefined for a key of all organizations. */
  readonly organization: OrganizationFacts | undefined;
  /** Who sends, and the Idempotency-Key it sent. */
  readonly idempotency: { readonly apiKey: string; readonly key: string } | undefined;
  /** How many rejected events the answer names; `rejectedErrorsReportedMax` unless the sender asked for more. */
  readonly errorsMax?: number;
}

const errorsMaxOf = ({ errorsMax = limits.rejectedErrorsReportedMax }: IngestRequest): number => errorsMax;

export interface Accept {
  /**
   * Resolves when the accepted events are durable. Rejects with a Problem: 400 when no event was accepted (with the
   * same `errors`) or the body is malformed, 413, 422 for a reused key, 500, 503. (contract: Ingest)
   */
  (request: IngestRequest): Promise<BatchAnswer>;
}

export interface AcceptOptions {
  readonly pool: WorkerPool;
  readonly wal: Wal;
  readonly arrivals: Arrivals;
  readonly idempotency: Idempotency;
  readonly bodyBytesMax: number;
  /** All organizations, for keys that belong to none; the same object until something changes. */
  directory(): SharedDirectory;
  /** Called for each durable batch, for metrics. */
  counted(answer: BatchAnswer): void;
}

interface Pending {
  readonly request: IngestRequest;
  resolve(done: Done): void;
  reject(error: unknown): void;
}

interface Done {
  readonly outcome: Outcome;
  /** Blocks that are not in the log yet: of a request that stands apart, or is large. */
  readonly frames: readonly Omit<FrameInput, 'notes'>[];
}

/**
 * Gathers small requests into one task, so that many clients sending single events do not pay a thread hop and a log
 * frame each; a large one goes at once. While no group is with the workers, what arrived together goes together,
 * without waiting; else the next group gathers until that one is done, for 2 ms at most, or longer while many tasks
 * wait for a worker.
 */
export function createAccept(options: AcceptOptions): Accept {
  const { pool, wal, arrivals, idempotency } = options;
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
    if (pool.queued() < limits.gatherQueuedTasks) dispatchGathered();
    else timer = setTimeout(dispatchInTime, limits.gatherDelayMsMax);
  }

  function submit(request: IngestRequest): Promise<Done> {
    const { length } = request.body;
    const isPlain = request.encoding === 'identity';
    if (length > (isPlain ? limits.splitBytesMin : limits.splitCompressedBytesMin)) return mapLarge(request);
    return new Promise((resolve, reject) => {
      const pending = { request, resolve, reject };
      // What a compressed body holds is not known yet: among others it could be far more than they can wait for.
      if (!isPlain || length > limits.gatherBytesMax / 4) {
        void dispatch([pending]);
        return;
      }
      gathered.push(pending);
      gatheredBytes += length;
      if (gatheredBytes >= limits.gatherBytesMax || gathered.length >= limits.gatherRequestsMax)
        dispatchGathered();
      else if (groupsMapping === 0) immediate ??= setImmediate(dispatchGathered);
      else timer ??= setTimeout(dispatchInTime, limits.gatherDelayMsMax);
    });
  }

  function taskOf(input: Uint8Array, requests: Pick<MapTask, 'ends' | 'kindOf' | 'kinds'>): MapTask {
    const needsDirectory = requests.kinds.some(({ organization }) => organization === undefined);
    return {
      kind: 'map',
      input,
      ...requests,
      // Two renderings and the columns take about twice what came in; more makes the worker's copy of it grow.
      output: buffers.take(input.length * 2.5),
      directory: needsDirectory ? options.directory() : undefined,
      bodyBytesMax: options.bodyBytesMax,
    };
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
    return taskOf(input, { ends, kindOf, kinds });
  }

  async function dispatch(group: readonly Pending[], mapped = () => {}): Promise<void> {
    try {
      const result = await pool.map(taskOfGroup(group)).finally(mapped);
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
    await arrivals.during(organizations, () => wal.append(frames));
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
        pending.resolve({ outcome: outcomeOf(result, index), frames: apart.get(index) ?? [] });
      }
    }
    if (shared.length > 0) await store(group, shared);
    if (apart.size === 0) buffers.give(result.buffer);
    for (const [index, pending] of group.entries()) {
      pending.resolve({ outcome: outcomeOf(result, index), frames: [] });
    }
  }

  /**
   * A large body is divided, and as many of its pieces are with the workers at once as there are workers: it uses
   * all of them, and what came after it is served between its pieces.
   */
  async function mapLarge(request: IngestRequest): Promise<Done> {
    const { form, encoding, organization } = request;
    const split = await pool.split({
      kind: 'split',
      input: request.body,
      form,
      encoding,
      hashed: request.idempotency !== undefined,
      bodyBytesMax: options.bodyBytesMax,
      pieceBytes: limits.pieceBytes,
    });
    buffers.give(split.input);
    const { body, pieces, bodyHash } = split;
    if ('code' in body) return { outcome: { kind: 'problem', ...body }, frames: [] };
    const results: MapResult[] = [];
    let next = 0;
    let accepted = 0;
    const serve = async (): Promise<void> => {
      while (next < pieces.length && accepted <= limits.batchEventsMax) {
        const index = next++;
        const [start, end] = pieces[index] as readonly [number, number];
        const one: RequestKind = {
          form: split.form,
          encoding: 'identity',
          organization,
          apart: false,
          errorsMax: errorsMaxOf(request),
        };
        // A failure ends the loop of every other piece as well: nothing of the request is stored then.
        const result = await pool
          .map(taskOf(body.subarray(start, end), alone(one, end - start)))
          .catch((error: unknown) => {
            next = pieces.length;
            throw error;
          });
        results[index] = result;
        accepted += acceptedOf(outcomeOf(result, 0));
      }
    };
    await Promise.all(Array.from({ length: pool.threads }, serve));
    if (accepted > limits.batchEventsMax) return { outcome: tooManyEvents, frames: [] };
    const frames = results.flatMap((result) => result.blocks.map((block) => frameOf(result, block)));
    return { outcome: joined(results, bodyHash, errorsMaxOf(request)), frames };
  }

  async function once(request: IngestRequest, id: string): Promise<BatchAnswer> {
    const { outcome, frames } = await submit(request);
    const hash = outcome.kind === 'answered' ? (outcome.bodyHash ?? '') : '';
    const before = idempotency.recall(id, hash);
    if (before === 'other') {
      throw new Problem(
        'key_reused',
        'This Idempotency-Key was used for another body within the last 24 hours.',
      );
    }
    if (before) return before;
    const answer = accepted(outcome);
    const notes = idempotency.notes(id, hash, answer);
    // The notes ride on the last frame: with the events they are durable together or not at all.
    const noted = frames.map((frame, index) => ({
      ...frame,
      notes: index === frames.length - 1 ? notes : '',
    }));
    await store([{ request }], noted);
    idempotency.remember(notes);
    options.counted(answer);
    return answer;
  }

  return async (request) => {
    if (request.idempotency) {
      const id = idempotency.id(request.idempotency.apiKey, request.idempotency.key);
      return idempotency.exclusively(id, () => once(request, id));
    }
    const { outcome, frames } = await submit(request);
    const answer = accepted(outcome);
    if (frames.length > 0)
      await store(
        [{ request }],
        frames.map((frame) => ({ ...frame, notes: '' })),
      );
    options.counted(answer);
    return answer;
  };
}

function frameOf(result: MapResult, { offset, length, rows, crc }: MapResult['blocks'][number]) {
  return { rows, payload: new Uint8Array(result.buffer, offset, length), payloadCrc: crc };
}

function outcomeOf(result: MapResult, index: number): Outcome {
  const accepted = result.accepted[index] ?? 0;
  const plain = { accepted, rejected: 0, errors: [] };
  return result.outcomes.get(index) ?? { kind: 'answered', answer: plain, bodyHash: undefined };
}

/** Where among the kinds a request's is, added if it is new. */
function kindAmong(kinds: RequestKind[], request: IngestRequest): number {
  const { form, encoding, organization } = request;
  const apart = request.idempotency !== undefined;
  const errorsMax = errorsMaxOf(request);
  const known = kinds.findIndex(
    (kind) =>
      kind.organization === organization &&
      kind.form === form &&
      kind.encoding === encoding &&
      kind.apart === apart &&
      kind.errorsMax === errorsMax,
  );
  return known >= 0 ? known : kinds.push({ form, encoding, organization, apart, errorsMax }) - 1;
}

/** A request that is a task of its own. */
function alone(kind: RequestKind, length: number): Pick<MapTask, 'ends' | 'kindOf' | 'kinds'> {
  return { ends: Uint32Array.of(length), kindOf: Uint32Array.of(0), kinds: [kind] };
}

function acceptedOf(outcome: Outcome): number {
  return outcome.kind === 'answered' ? outcome.answer.accepted : 0;
}

/** One outcome of a body's pieces, in their order; a problem of one is a problem of all. */
function joined(results: readonly MapResult[], bodyHash: string | undefined, errorsMax: number): Outcome {
  const answer = { accepted: 0, rejected: 0, errors: [] as { index: number; error: string }[] };
  for (const result of results) {
    const outcome = outcomeOf(result, 0);
    if (outcome.kind === 'problem') return outcome;
    const { accepted, rejected, errors } = outcome.answer;
    const before = answer.accepted + answer.rejected;
    for (const { index, error } of errors) {
      if (answer.errors.length < errorsMax) answer.errors.push({ index: before + index, error });
    }
    answer.accepted += accepted;
    answer.rejected += rejected;
  }
  return { kind: 'answered', answer, bodyHash };
}

/** The answer of a batch with at least one good event; otherwise the Problem that says why there is none. */
function accepted(outcome: Outcome): BatchAnswer {
  if (outcome.kind === 'problem') throw new Problem(outcome.code, outcome.detail);
  const { answer } = outcome;
  if (answer.accepted > 0) return answer;
  const detail = answer.rejected === 0 ? 'The body holds no event.' : 'No event of the batch was accepted.';
  throw new Problem('nothing_accepted', detail, { members: { ...answer } });
}
