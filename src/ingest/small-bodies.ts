import { buffers } from '../base/bytes/buffer-pool.ts';
import { Problem } from '../base/errors/problem.ts';
import { FrameMemory } from './frame-memory.ts';
import { limits } from './limits.ts';
import type { WorkerPool } from './pool.ts';
import { errorsMaxOf, type IngestRequest, type MappedRequest } from './request.ts';
import type { FrameInput } from './segment.ts';
import { type Directory, frameOf, type MapResult, mapTask, type MapTask, outcomeOf } from './task.ts';
import type { RequestKind } from './task.ts';

const gatherRequestsMax = 256;

export interface SmallBodiesOptions {
  readonly pool: WorkerPool;
  readonly directory: Directory;
  append(frames: readonly FrameInput[], requests: readonly IngestRequest[]): Promise<void>;
}

interface Pending {
  readonly request: IngestRequest;
  resolve(mapped: MappedRequest): void;
  reject(error: unknown): void;
}

/**
 * Gathers small bodies into one task, which saves a thread hop and a log frame each. Bodies that arrive
 * together form a group at once. While a group is being mapped, the next one gathers, for 2 ms at most or
 * longer while many tasks wait.
 */
export class SmallBodies {
  readonly #options: SmallBodiesOptions;
  #gathered: Pending[] = [];
  #gatheredBytes = 0;
  #groupsMapping = 0;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;

  constructor(options: SmallBodiesOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the events are durable; with an Idempotency-Key, when they are mapped in frames of their
   * own. Rejects with a Problem of the pool or of the log.
   */
  map(request: IngestRequest): Promise<MappedRequest> {
    return new Promise((resolve, reject) => {
      this.#gathered.push({ request, resolve, reject });
      this.#gatheredBytes += request.body.length;
      const isFull =
        this.#gatheredBytes >= limits.gatherBytesMax || this.#gathered.length >= gatherRequestsMax;
      if (isFull) this.#dispatch();
      else if (this.#groupsMapping === 0) this.#immediate ??= setImmediate(() => this.#dispatch());
      else this.#wait();
    });
  }

  #wait(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#options.pool.queued() < limits.gatherQueuedTasks) this.#dispatch();
      else this.#wait();
    }, limits.gatherDelayMsMax);
  }

  #dispatch(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    this.#timer = undefined;
    this.#immediate = undefined;
    const group = this.#gathered;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    if (group.length > 0) void this.#serve(group);
  }

  async #serve(group: readonly Pending[]): Promise<void> {
    try {
      await this.#settle(group, await this.#mapped(group));
    } catch (error) {
      const workerFailed = error instanceof Problem && error.code === 'internal';
      if (workerFailed && group.length > 1) for (const pending of group) await this.#serve([pending]);
      else for (const pending of group) pending.reject(error);
    }
  }

  async #mapped(group: readonly Pending[]): Promise<MapResult> {
    this.#groupsMapping += 1;
    try {
      const result = await this.#options.pool.map(this.#taskOf(group));
      if (result.input) buffers.give(result.input);
      return result;
    } finally {
      this.#groupsMapping -= 1;
      this.#dispatch();
    }
  }

  /**
   * A lone request gives its buffer away. Bodies of a group are copied, so that after a crash over one of
   * them the others can be retried.
   */
  #taskOf(group: readonly Pending[]): MapTask {
    const alone = group.length === 1;
    const total = group.reduce((sum, { request }) => sum + request.body.length, 0);
    const input = alone
      ? (group[0] as Pending).request.body
      : new Uint8Array(buffers.take(total).handOver(), 0, total);
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
    return mapTask(this.#options.directory, input, { ends, kindOf, kinds });
  }

  async #settle(group: readonly Pending[], result: MapResult): Promise<void> {
    const memory = new FrameMemory([result.buffer]);
    const shared = result.blocks.filter(({ request }) => request === undefined);
    const sharing: IngestRequest[] = [];
    // Requests with blocks of their own need not wait for the others.
    for (const [index, { request, resolve }] of group.entries()) {
      if (request.idempotency === undefined) sharing.push(request);
      else {
        const own = result.blocks.filter((block) => block.request === index);
        const frames = own.map((block) => frameOf(result, block));
        resolve({ outcome: outcomeOf(result, index), frames, memory: FrameMemory.none });
      }
    }
    if (shared.length > 0) {
      const frames = shared.map((block) => ({ ...frameOf(result, block), notes: '' }));
      await memory.lend(() => this.#options.append(frames, sharing));
    }
    // Otherwise it still has blocks of single requests, and the collector frees it.
    if (shared.length === result.blocks.length) memory.release();
    for (const [index, { request, resolve }] of group.entries()) {
      if (request.idempotency === undefined)
        resolve({ outcome: outcomeOf(result, index), frames: [], memory: FrameMemory.none });
    }
  }
}

function kindAmong(kinds: RequestKind[], request: IngestRequest): number {
  const { form, adapter, organization, org } = request;
  const ownBlocks = request.idempotency !== undefined;
  const errorsMax = errorsMaxOf(request);
  const known = kinds.findIndex(
    (kind) =>
      kind.organization === organization &&
      kind.form === form &&
      kind.adapter === adapter &&
      kind.org === org &&
      kind.ownBlocks === ownBlocks &&
      kind.errorsMax === errorsMax,
  );
  return known >= 0
    ? known
    : kinds.push({
        form,
        ...(adapter && { adapter }),
        organization,
        ...(org && { org }),
        ownBlocks,
        errorsMax,
      }) - 1;
}
