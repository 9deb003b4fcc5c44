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

/** Organizations whose large bodies are decompressed and mapped at the same time. */
const largeBodyOrganizationsMax = 4;
const largeBodiesWaitingMax = 1024;
const largeBodyWaitMsMax = 30_000;

export interface LargeBodiesOptions {
  readonly pool: WorkerPool;
  readonly directory: Directory;
  readonly bodyBytesMax: number;
}

/**
 * Maps bodies that are too large, or may be once they are decompressed, to share a task with others. Organizations
 * take turns, so one that sends many waits for itself; and what is worked on at once, and so in memory, is bounded.
 */
export class LargeBodies {
  readonly #options: LargeBodiesOptions;
  readonly #slots: FairQueue;
  /**
   * Memory that threads share is no part of what V8 weighs: what is left to its collector stays for minutes. So each
   * body gives its room back, and there are no more of them than slots.
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
   * Maps a body and has what came of it stored. A body of which much is kept has its place until that is done, so that
   * memory is bounded also where the disk is slower than the threads. Rejects with a Problem: 429, what the pool says,
   * or what `store` does.
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
    // What is in other bodies is not known; pages that nothing is written to cost nothing.
    const roomBytes = isPlain(request) ? request.body.length : bodyBytesMax;
    const room = this.#rooms.take(Math.min(roomBytes, bodyBytesMax));
    const mapped = await this.#splitAndMap(request, room.memory);
    // Not after a failure: a thread that was given up may still write into it.
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
   * As many pieces are with the workers at once as there are threads: a body uses all of them, and what came after it
   * is served between its pieces.
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
        // A failure ends the loop of every other piece as well: nothing of the request is stored then.
        const result = await pool.map(task).catch((error: unknown) => {
          next = pieces.length;
          throw error;
        });
        // A body without a good event keeps no memory: at 32 MiB the collector would stop for it.
        if (result.blocks.length === 0) buffers.give(result.buffer);
        mapped.add(index, result, end - start);
      }
    };
    await Promise.all(Array.from({ length: pool.threads }, serve));
    return mapped;
  }
}

/** Whether the body is as large as what is in it. */
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
