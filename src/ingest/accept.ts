import { limits } from '../base/limits.ts';
import { Problem } from '../base/problem.ts';
import type { BatchAnswer, Idempotency } from './idempotency.ts';
import type { WorkerPool } from './pool.ts';
import type { FrameInput } from './segment.ts';
import type { Outcome, SharedDirectory, Task, TaskRequest, TaskResult } from './task.ts';
import type { Wal } from './wal.ts';

/** One POST of source events, as the HTTP layer hands it over. */
export interface IngestRequest {
  /** The bytes as received; the buffer behind them is given away. */
  readonly body: ArrayBuffer;
  readonly form: TaskRequest['form'];
  readonly encoding: TaskRequest['encoding'];
  readonly organization: TaskRequest['organization'];
  /** Who sends, and the Idempotency-Key it sent. */
  readonly idempotency: { readonly apiKey: string; readonly key: string } | undefined;
}

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
  readonly idempotency: Idempotency;
  readonly bodyBytesMax: number;
  /** All organizations, for keys that belong to none; the same object until something changes. */
  directory(): SharedDirectory;
  /** Called for each durable batch, for metrics. */
  counted(answer: BatchAnswer): void;
}

interface Pending {
  readonly request: IngestRequest;
  /** Resolves with the answer, or undefined when the id was remembered meanwhile and nothing was stored. */
  resolve(done: Done): void;
  reject(error: unknown): void;
}

interface Done {
  readonly outcome: Outcome;
  /** The blocks of a request that stands apart; empty for the others, whose rows are durable already. */
  readonly frames: readonly Omit<FrameInput, 'notes'>[];
}

/**
 * Gathers small requests for up to 2 ms into one task, so that many clients sending single events do not pay a
 * thread hop and a log frame each; a large one goes at once.
 */
export function createAccept(options: AcceptOptions): Accept {
  const { pool, wal, idempotency } = options;
  let gathered: Pending[] = [];
  let gatheredBytes = 0;
  let timer: NodeJS.Timeout | undefined;

  function dispatchGathered(): void {
    clearTimeout(timer);
    timer = undefined;
    const group = gathered;
    gathered = [];
    gatheredBytes = 0;
    if (group.length > 0) void dispatch(group);
  }

  function submit(request: IngestRequest): Promise<Done> {
    return new Promise((resolve, reject) => {
      const pending = { request, resolve, reject };
      // What a compressed body holds is not known yet: among others it could be far more than they can wait for.
      if (request.encoding !== 'identity' || request.body.byteLength > limits.gatherBytesMax / 4) {
        void dispatch([pending]);
        return;
      }
      gathered.push(pending);
      gatheredBytes += request.body.byteLength;
      if (gatheredBytes >= limits.gatherBytesMax || gathered.length >= limits.gatherRequestsMax)
        dispatchGathered();
      else timer ??= setTimeout(dispatchGathered, limits.gatherDelayMsMax);
    });
  }

  function toTask(group: readonly Pending[]): Task {
    const requests = group.map(({ request }) => ({
      body: new Uint8Array(request.body),
      form: request.form,
      encoding: request.encoding,
      organization: request.organization,
      apart: request.idempotency !== undefined,
    }));
    const needsDirectory = requests.some(({ organization }) => organization === undefined);
    return {
      requests,
      directory: needsDirectory ? options.directory() : undefined,
      bodyBytesMax: options.bodyBytesMax,
    };
  }

  /**
   * A lone request gives its buffer away. Bodies of a group are copied instead (they are small), so that when a
   * worker dies over one of them the others can be tried again without it.
   */
  async function dispatch(group: readonly Pending[]): Promise<void> {
    const alone = group.length === 1;
    try {
      const task = toTask(group);
      const result = await pool.run(task, alone ? [(group[0] as Pending).request.body] : []);
      await settle(group, result);
    } catch (error) {
      const workerFailed = error instanceof Problem && error.code === 'internal';
      if (workerFailed && !alone) for (const pending of group) await dispatch([pending]);
      else for (const pending of group) pending.reject(error);
    }
  }

  async function settle(group: readonly Pending[], result: TaskResult): Promise<void> {
    const shared: FrameInput[] = [];
    const apart = new Map<number, Omit<FrameInput, 'notes'>[]>();
    for (const { offset, length, rows, crc, request } of result.blocks) {
      const frame = { rows, payload: new Uint8Array(result.buffer, offset, length), payloadCrc: crc };
      if (request === undefined) shared.push({ ...frame, notes: '' });
      else apart.set(request, [...(apart.get(request) ?? []), frame]);
    }
    // Requests that stand apart append for themselves; they need not wait for the others.
    for (const [index, pending] of group.entries()) {
      if (pending.request.idempotency) {
        pending.resolve({ outcome: result.outcomes[index] as Outcome, frames: apart.get(index) ?? [] });
      }
    }
    if (shared.length > 0) await wal.append(shared);
    for (const [index, pending] of group.entries()) {
      pending.resolve({ outcome: result.outcomes[index] as Outcome, frames: [] });
    }
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
    await wal.append(
      frames.map((frame, index) => ({ ...frame, notes: index === frames.length - 1 ? notes : '' })),
    );
    idempotency.remember(notes);
    options.counted(answer);
    return answer;
  }

  return async (request) => {
    if (request.idempotency) {
      const id = idempotency.id(request.idempotency.apiKey, request.idempotency.key);
      return idempotency.exclusively(id, () => once(request, id));
    }
    const { outcome } = await submit(request);
    const answer = accepted(outcome);
    options.counted(answer);
    return answer;
  };
}

/** The answer of a batch with at least one good event; otherwise the Problem that says why there is none. */
function accepted(outcome: Outcome): BatchAnswer {
  if (outcome.kind === 'problem') throw new Problem(outcome.code, outcome.detail);
  const { answer } = outcome;
  if (answer.accepted > 0) return answer;
  const detail = answer.rejected === 0 ? 'The body holds no event.' : 'No event of the batch was accepted.';
  throw new Problem('nothing_accepted', detail, { members: { ...answer } });
}
