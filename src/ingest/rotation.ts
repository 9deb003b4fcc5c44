import { errorFacts, type Logger } from '../base/observability/log.ts';
import type { LargeSegments, SegmentDeps } from './large-segments.ts';
import { OpenSegment } from './open-segment.ts';
import { segmentName } from './segment.ts';

export interface RotationDeps extends SegmentDeps {
  readonly large: LargeSegments;
  readonly log: Logger;
}

/** The segment after the open one, begun ahead of need. */
interface Successor {
  readonly segment: Promise<OpenSegment>;
  hasFailed: boolean;
}

/** The open segment and its successor. Only `prepare` may run while another method does. */
export class Rotation {
  readonly #deps: RotationDeps;
  #open: OpenSegment | undefined;
  #successor: Successor | undefined;
  #isStopped = false;

  constructor(deps: RotationDeps) {
    this.#deps = deps;
  }

  /** Undefined after a failure, until the next rotation. */
  get open(): OpenSegment | undefined {
    return this.#open;
  }

  /** True for an open segment that is empty and not the newest. */
  get isStale(): boolean {
    if (this.#isStopped || this.#open?.isEmpty !== true) return false;
    return this.#open.number < this.#deps.large.newest;
  }

  /** Begins the successor where a rotation will need one, and resolves when it is there or has failed. */
  async prepare(): Promise<void> {
    if (this.#open === undefined || (this.#open.isEmpty && !this.isStale)) return;
    this.#successor ??= this.#begin();
    await this.#successor.segment.catch(() => undefined);
  }

  /** Seals the open segment if it holds rows, or renews it if it is stale. Resolves with the one that is open then. */
  async rotate(): Promise<OpenSegment> {
    const old = this.#open;
    if (old?.isEmpty === true && !this.isStale) return old;
    if (old?.isEmpty === false) this.#seal(old);
    // One that failed for a segment that has failed since then says nothing of the disk as it is now.
    if (old === undefined && this.#successor?.hasFailed === true) this.#successor = undefined;
    this.#successor ??= this.#begin();
    const { segment } = this.#successor;
    try {
      const next = await segment;
      if (old?.isEmpty === true) this.#discardEmpty(old);
      this.#open = next;
      this.#deps.files.removeObsolete(next);
      return next;
    } finally {
      this.#successor = undefined;
      if (old !== undefined && old !== this.#open) await this.#deps.files.close(old);
    }
  }

  /**
   * After a failed write or sync nobody knows what reached the disk, and a second sync may lie. The open segment ends
   * at what was durable before; the next append begins a new one.
   */
  async abandon(segment: OpenSegment, cause: unknown): Promise<void> {
    const { log, files } = this.#deps;
    const facts = { segment: segment.number };
    log.error({ ...facts, ...errorFacts(cause) }, 'the write-ahead log could not be written');
    if (segment.isEmpty) this.#open = undefined;
    else this.#seal(segment);
    try {
      await segment.cut();
    } catch (error) {
      log.warn({ ...facts, ...errorFacts(error) }, 'the end of a failed segment could not be cut');
    }
    await files.close(segment);
    // Its manifest may be the last one: it stays until there is a newer one.
    if (segment.isEmpty) this.#discardEmpty(segment);
  }

  /** From now on an empty segment is good enough. */
  stop(): void {
    this.#isStopped = true;
  }

  async close(): Promise<void> {
    await this.#open?.close();
    this.#open = undefined;
    // Empty: the next process removes it.
    const unused = await this.#successor?.segment.catch(() => undefined);
    await unused?.close();
  }

  #begin(): Successor {
    const { nextNumber, sealed, files } = this.#deps;
    const number = nextNumber();
    const segment = OpenSegment.create(number, sealed.manifest(this.#open), files);
    const begun = { segment, hasFailed: false };
    segment.catch(() => {
      begun.hasFailed = true;
    });
    return begun;
  }

  #seal(segment: OpenSegment): void {
    this.#open = undefined;
    this.#deps.sealed.add(segment);
  }

  /** The file of a segment without rows goes once no manifest of its own is the last. */
  #discardEmpty({ number, manifestVersion, facts }: OpenSegment): void {
    this.#deps.files.discard(segmentName(number), manifestVersion, facts.bytes);
  }
}
