import type { Manifest, ManifestEntry } from './manifest.ts';
import type { OpenSegment } from './open-segment.ts';
import type { SegmentFacts } from './segment.ts';

/** Segments in a manifest. If more wait, a start does not check the ends of the oldest. */
const walManifestSegmentsMax = 4_096;

export interface SealedSegment {
  /** Rising name in the log. The number in the order of ingest comes with the INSERT (order-numbers.ts). */
  readonly number: number;
  readonly rows: number;
  readonly bytes: number;
  /** As sealed: more rows than are readable if the segment is damaged. */
  readonly sealed: SegmentFacts;
  /** Its file is kept as evidence after its readable rows are stored. */
  readonly isDamaged: boolean;
  readonly isLarge: boolean;
  readonly organization?: string | undefined;
  /** When its first rows arrived, or recovery read it; by `performance.now()`. */
  readonly sinceMs: number;
}

/**
 * The sealed segments that are not in the engine. Each change raises the version of the manifest
 * (manifest.ts).
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

  get version(): number {
    return this.#version;
  }

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

  /** Beyond the bound, the newest waiting segments; and the open one. */
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
