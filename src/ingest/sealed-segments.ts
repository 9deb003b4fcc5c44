import type { Manifest, ManifestEntry } from './manifest.ts';
import type { OpenSegment } from './open-segment.ts';
import type { SegmentFacts } from './segment.ts';

/** Segments that a manifest of the log names. Where more wait, a start does not check the ends of the oldest. */
const walManifestSegmentsMax = 4_096;

/** A segment that takes no more appends. */
export interface SealedSegment {
  /** Its name in the log, where it rises. Its place in the order of ingest comes with its INSERT (order-numbers.ts). */
  readonly number: number;
  /** That can be read. */
  readonly rows: number;
  readonly bytes: number;
  /** What was sealed: more rows than can be read, if the segment is damaged. */
  readonly sealed: SegmentFacts;
  /** Its file is kept as evidence once what can be read is stored. */
  readonly isDamaged: boolean;
  /** Holds one large request and nothing else: its INSERT takes long. */
  readonly isLarge: boolean;
  /** The only organization whose events are in it, where that is known. */
  readonly organization?: string | undefined;
  /** When its first rows came, or it was found; by `performance.now()`. */
  readonly sinceMs: number;
}

/**
 * The sealed segments that have not reached the engine. Each change of what is needed makes another version of the
 * manifest that tells it (manifest.ts).
 */
export class SealedSegments {
  #list: SealedSegment[];
  #bytes: number;
  #version: number;
  #added = (): void => {};

  /** `version`: that of the last manifest of earlier processes. */
  constructor(recovered: SealedSegment[], version: number) {
    this.#list = recovered;
    this.#bytes = recovered.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#version = version + 1;
  }

  get list(): readonly SealedSegment[] {
    return this.#list;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The version of the manifest that tells all that is needed now. */
  get version(): number {
    return this.#version;
  }

  /** Called after each segment that is added. */
  onAdd(added: () => void): void {
    this.#added = added;
  }

  add(
    { number, facts, sinceMs }: Pick<OpenSegment, 'number' | 'facts' | 'sinceMs'>,
    content: Pick<SealedSegment, 'isLarge' | 'organization'> = { isLarge: false },
  ): void {
    const { rows, bytes } = facts;
    this.#list.push({ number, rows, bytes, sealed: facts, sinceMs, ...content, isDamaged: false });
    this.#bytes += bytes;
    this.#version += 1;
    this.#added();
  }

  remove(segment: SealedSegment): void {
    this.#list = this.#list.filter(({ number }) => number !== segment.number);
    this.#bytes -= segment.bytes;
    this.#version += 1;
  }

  /** What is needed now: the newest of what waits, where there is more than a manifest names, and the open segment. */
  manifest(open?: OpenSegment): Manifest {
    const newest = this.#list.slice(-walManifestSegmentsMax);
    const entries: ManifestEntry[] = newest.map(({ number, sealed }) => ({
      number,
      ...sealed,
      isOpen: false,
    }));
    if (open?.isEmpty === false) entries.push({ number: open.number, ...open.facts, isOpen: true });
    return { version: this.#version, entries };
  }
}
