import { errorFacts, type Logger } from '../base/observability/log.ts';
import type { LargeSegments, SegmentDeps } from './large-segments.ts';
import { OpenSegment } from './open-segment.ts';
import { segmentName } from './segment.ts';

export interface RotationDeps extends SegmentDeps {
  readonly large: LargeSegments;
  readonly log: Logger;
}

interface Successor {
  readonly segment: Promise<OpenSegment>;
  hasFailed: boolean;
}

/** The open segment and its successor. Only `prepare` may run beside another method. */
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

  get isStale(): boolean {
    if (this.#isStopped || this.#open?.isEmpty !== true) return false;
    return this.#open.number < this.#deps.large.newest;
  }

  async prepare(): Promise<void> {
    if (this.#open === undefined || (this.#open.isEmpty && !this.isStale)) return;
    this.#successor ??= this.#begin();
    await this.#successor.segment.catch(() => undefined);
  }

  /** Seals the open segment if it has rows, or renews it if stale. Resolves with the open segment. */
  async rotate(): Promise<OpenSegment> {
    const old = this.#open;
    if (old?.isEmpty === true && !this.isStale) return old;
    if (old?.isEmpty === false) this.#seal(old);
    // The open segment failed after this successor did, so the disk may work again: begin another.
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
   * After a failed write or sync the content of the disk is unknown, and a second sync may lie. So the open
   * segment ends at its durable part, and the next append begins a new one.
   */
  async abandon(segment: OpenSegment, cause: unknown): Promise<void> {
    const { log, files } = this.#deps;
    const facts = { segment: segment.number };
    log.error({ ...facts, ...errorFacts(cause) }, 'Writing the write-ahead log failed');
    if (segment.isEmpty) this.#open = undefined;
    else this.#seal(segment);
    try {
      await segment.cut();
    } catch (error) {
      log.warn({ ...facts, ...errorFacts(error) }, 'Cutting the end of a failed segment failed');
    }
    await files.close(segment);
    // Its manifest may be the last one, so the file stays until a newer one is durable.
    if (segment.isEmpty) this.#discardEmpty(segment);
  }

  /** From now on an empty open segment suffices. */
  stop(): void {
    this.#isStopped = true;
  }

  async close(): Promise<void> {
    await this.#open?.close();
    this.#open = undefined;
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

  #discardEmpty({ number, manifestVersion, facts }: OpenSegment): void {
    this.#deps.files.discard(segmentName(number), manifestVersion, facts.bytes);
  }
}
