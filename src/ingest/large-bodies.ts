import { buffers } from '../base/buffer-pool.ts';
import { FairQueue } from '../base/fair-queue.ts';
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
} from './task.ts';

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

  constructor(options: LargeBodiesOptions) {
    this.#options = options;
    const slotsPerOrganization = options.pool.threads + limits.largeBodiesBeyondThreads;
    this.#slots = new FairQueue({
      slotsPerOrganization,
      slots: slotsPerOrganization * limits.largeBodyOrganizationsMax,
      waitingPerOrganization: limits.largeBodiesWaitingPerOrganizationMax,
      waiting: limits.largeBodiesWaitingMax,
      waitMs: limits.largeBodyWaitMsMax,
      refusal: 'Too many large batches are waiting; try again later.',
      retryAfterSeconds: 1,
    });
  }

  /** Rejects with a Problem: 429, or what the pool says. */
  async map(request: IngestRequest): Promise<MappedRequest> {
    const release = await this.#slots.acquire(request.organization?.id ?? request.apiKey ?? '');
    try {
      const isWhole = request.encoding === 'identity' && request.body.length <= limits.splitBytesMin;
      return await (isWhole ? this.#mapWhole(request) : this.#mapDivided(request));
    } finally {
      release();
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
    const { pool, bodyBytesMax } = this.#options;
    const split = await pool.split({
      kind: 'split',
      input: request.body,
      form: request.form,
      ...(request.foreign && { foreign: request.foreign }),
      encoding: request.encoding,
      hashed: request.idempotency !== undefined,
      bodyBytesMax,
      pieceBytes: limits.pieceBytes,
    });
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
        const task = loneTask(directory, body.subarray(start, end), kind, mapped.rejectedLeft());
        // A failure ends the loop of every other piece as well: nothing of the request is stored then.
        const result = await pool.map(task).catch((error: unknown) => {
          next = pieces.length;
          throw error;
        });
        // Of a body without a good event nothing is kept: at 32 MiB that is memory the collector would stop for.
        if (result.blocks.length === 0) buffers.give(result.buffer);
        mapped.add(index, result);
      }
    };
    await Promise.all(Array.from({ length: pool.threads }, serve));
    return mapped;
  }
}

function kindOf(request: IngestRequest): RequestKind {
  const { form, foreign, organization } = request;
  const errorsMax = errorsMaxOf(request);
  return { form, ...(foreign && { foreign }), organization, ownBlocks: false, errorsMax };
}

function mappedRequest(results: readonly MapResult[], outcome: Outcome): MappedRequest {
  const kept = results.filter(({ blocks }) => blocks.length > 0);
  return {
    outcome,
    frames: kept.flatMap((result) => result.blocks.map((block) => frameOf(result, block))),
    release() {
      for (const { buffer } of kept) buffers.give(buffer);
    },
  };
}
