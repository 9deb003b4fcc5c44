/**
 * A manifest names the segments that are needed, so that a damaged or missing one is noticed. It is a frame of
 * the open segment, with JSON; the highest version in any file counts. It has the length, rows and checksum of
 * every sealed segment that is not in the engine, and the durable part of a segment that was still open. Two
 * rules keep it true over a crash:
 *
 * - A file is removed only after a manifest without it is durable, in a newer segment.
 * - A segment that no manifest names was open, is in the engine, or is a large request without
 *   acknowledgement. Its end may be torn, and it is sent with doubt.
 */
export interface ManifestEntry {
  readonly number: number;
  readonly bytes: number;
  readonly rows: number;
  readonly checksum: number;
  readonly isOpen: boolean;
}

export interface Manifest {
  readonly version: number;
  readonly entries: readonly ManifestEntry[];
}
