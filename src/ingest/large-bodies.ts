import { BufferPool, buffers, pooledBytes } from '../base/bytes/buffer-pool.ts';
import { FairQueue } from '../base/waiting/fair-queue.ts';
import { FrameMemory } from './frame-memory.ts';
import { limits } from './limits.ts';
import { MappedPieces } from './mapped-pieces.ts';
import type { WorkerPool } from './pool.ts';
import { errorsMaxOf, type IngestRequest, type MappedRequest } from './request.ts';
import {
  type Directory,
  frameOf,
  loneTask,
  type MapResult,
  type Outcome,
  outcomeOf,
  type RequestKind,
  type SplitResult,
  type SplitTask,
} from './task.ts';

const largeBodyOrganizationsMax = 4;
const largeBodiesWaitingMax = 1024;
const largeBodyWaitMsMax = 30_000;

export interface LargeBodiesOptions {
  readonly pool: WorkerPool;
  readonly directory: Directory;
  readonly bodyBytesMax: number;
}

/**
 * Maps bodies that are, or may become, too large to share a task. Organizations take turns, and slots bound
 * the memory in use.
 */
export class LargeBodies {
  readonly #options: LargeBodiesOptions;
  readonly #slots: FairQueue;
  /**
   * V8 does not account for shared memory, so its collector would keep it for minutes. Each body returns its
   * room, and there are as many rooms as slots.
   */
  readonly #rooms: BufferPool<SharedArrayBuffer>;

  constructor(options: LargeBodiesOptions) {
    this.#options = options;
    const slotsPerOrganization = options.pool.threads + limits.largeBodiesBeyondThreads;
    const slots = slotsPerOrganization * largeBodyOrganizationsMax;
    const roomBytesMax = pooledBytes(options.bodyBytesMax);
    this.#rooms = new BufferPool({
      bytesMax: slots * roomBytesMax,
      largestBytes: roomBytesMax,
      allocate: (bytes) => new SharedArrayBuffer(bytes),
    });
    this.#slots = new FairQueue({
      slotsPerOrganization,
      slots,
      waitingPerOrganization: limits.largeBodiesWaitingPerOrganizationMax,
      waiting: largeBodiesWaitingMax,
      waitMs: largeBodyWaitMsMax,
      refusal: 'Too many large batches are waiting; try again later.',
      retryAfterSeconds: 1,
    });
  }

  /**
   * Maps a body and stores its events. A body with much to store keeps its slot until then, so memory is
   * bounded on a slow disk, too. Rejects with a Problem: 429, or one of the pool or of `store`.
   */
  async serve<T>(request: IngestRequest, store: (mapped: MappedRequest) => Promise<T>): Promise<T> {
    const leave = await this.#slots.acquire(request.organization?.id ?? request.apiKey ?? '');
    try {
      const isWhole = isPlain(request) && request.body.length <= limits.splitBytesMin;
      const mapped = await (isWhole ? this.#mapWhole(request) : this.#mapDivided(request));
      if (keptBytes(mapped) <= limits.keptBytesMin) leave();
      return await store(mapped);
    } finally {
      leave();
    }
  }

  async #mapWhole(request: IngestRequest): Promise<MappedRequest> {
    const { pool, directory } = this.#options;
    const kind = { ...kindOf(request), ownBlocks: request.idempotency !== undefined };
    const result = await pool.map(loneTask(directory, request.body, kind));
    if (result.input) buffers.give(result.input);
    if (result.blocks.length === 0) buffers.give(result.buffer);
    return mappedRequest([result], outcomeOf(result, 0));
  }

  async #mapDivided(request: IngestRequest): Promise<MappedRequest> {
    const { bodyBytesMax } = this.#options;
    // The decoded size is unknown; untouched pages cost nothing.
    const roomBytes = isPlain(request) ? request.body.length : bodyBytesMax;
    const room = this.#rooms.take(Math.min(roomBytes, bodyBytesMax));
    const mapped = await this.#splitAndMap(request, room.memory);
    // Not after a failure: a lost thread may still write into it.
    room.release();
    return mapped;
  }

  async #splitAndMap(request: IngestRequest, room: SharedArrayBuffer): Promise<MappedRequest> {
    const { pool, bodyBytesMax } = this.#options;
    const { body: input, form, adapter, otlp, encoding } = request;
    const hashed = request.idempotency !== undefined;
    const bounds = { bodyBytesMax, pieceBytes: limits.pieceBytes };
    const task: SplitTask = { kind: 'split', input, form, encoding, hashed, room, ...bounds };
    const split = await pool.split({ ...task, ...(adapter && { adapter }), ...(otlp && { otlp }) });
    buffers.give(split.input);
    if ('code' in split.body) return mappedRequest([], split.body);
    const mapped = await this.#mapPieces(request, split, split.body);
    return mappedRequest(mapped.results(), mapped.outcome(split.bodyHash));
  }

  /**
   * At most as many pieces as threads are queued, so the body uses all of them and later bodies come in
   * between its pieces.
   */
  async #mapPieces(
    request: IngestRequest,
    { pieces, form }: SplitResult,
    body: Uint8Array,
  ): Promise<MappedPieces> {
    const { pool, directory } = this.#options;
    const mapped = new MappedPieces(errorsMaxOf(request));
    let next = 0;
    const serve = async (): Promise<void> => {
      while (next < pieces.length && !mapped.isOver()) {
        const index = next++;
        const [start, end] = pieces[index] as readonly [number, number];
        const kind = { ...kindOf(request), form, errorsMax: mapped.errorsLeft() };
        const task = loneTask(directory, body.subarray(start, end), kind, {
          rejectedMax: mapped.rejectedLeft(),
          outputBytes: mapped.outputBytes(end - start),
        });
        const result = await pool.map(task).catch((error: unknown) => {
          next = pieces.length;
          throw error;
        });
        // A body without a valid event keeps no memory: the collector would stop for it at 32 MiB.
        if (result.blocks.length === 0) buffers.give(result.buffer);
        mapped.add(index, result, end - start);
      }
    };
    await Promise.all(Array.from({ length: pool.threads }, serve));
    return mapped;
  }
}

/** Whether the decoded body is as large as the received one. */
function isPlain({ encoding, otlp }: IngestRequest): boolean {
  return encoding === 'identity' && otlp === undefined;
}

function keptBytes({ frames }: MappedRequest): number {
  return frames.reduce((sum, { payload }) => sum + payload.length, 0);
}

function kindOf(request: IngestRequest): RequestKind {
  const { form, adapter, organization, org } = request;
  const errorsMax = errorsMaxOf(request);
  return {
    form,
    ...(adapter && { adapter }),
    organization,
    ...(org && { org }),
    ownBlocks: false,
    errorsMax,
  };
}

function mappedRequest(results: readonly MapResult[], outcome: Outcome): MappedRequest {
  const kept = results.filter(({ blocks }) => blocks.length > 0);
  return {
    outcome,
    frames: kept.flatMap((result) => result.blocks.map((block) => frameOf(result, block))),
    memory: new FrameMemory(kept.map(({ buffer }) => buffer)),
  };
}
