import type { LogFile } from './files.ts';
import type { Append } from './group-commit.ts';
import type { Manifest } from './manifest.ts';
import type { SegmentFiles } from './segment-files.ts';
import {
  encodeFileHeader,
  encodeManifestFrame,
  encodeRequests,
  factsWith,
  fileHeaderBytes,
  frameSeed,
  type SegmentFacts,
} from './segment.ts';

export class OpenSegment {
  readonly number: number;
  readonly #file: LogFile;
  readonly #seed: number;
  facts: SegmentFacts;
  manifestVersion: number;
  /** Time of its first rows, by `performance.now()`. */
  sinceMs = 0;

  private constructor(number: number, file: LogFile, facts: SegmentFacts, manifestVersion: number) {
    this.number = number;
    this.#file = file;
    this.#seed = frameSeed(number);
    this.facts = facts;
    this.manifestVersion = manifestVersion;
  }

  static async create(number: number, manifest: Manifest, files: SegmentFiles): Promise<OpenSegment> {
    const position = { seed: frameSeed(number), firstRow: 0, durableBytes: fileHeaderBytes };
    const frame = encodeManifestFrame(manifest, position);
    const facts = factsWith({ bytes: fileHeaderBytes, rows: 0, checksum: 0 }, [frame]);
    const header = encodeFileHeader(number);
    const file = await files.create(number, manifest.version, [[header, ...frame.parts]]);
    return new OpenSegment(number, file, facts, manifest.version);
  }

  get isEmpty(): boolean {
    return this.facts.rows === 0;
  }

  /** One sync makes the group durable, after a manifest if one is given. */
  async append(group: readonly Append[], manifest?: Manifest): Promise<void> {
    const { rows: firstRow, bytes: durableBytes } = this.facts;
    const position = { seed: this.#seed, firstRow, durableBytes };
    const frames = encodeRequests(group, position);
    if (manifest !== undefined) frames.unshift(encodeManifestFrame(manifest, position));
    await this.#file.append(frames.flatMap(({ parts }) => parts));
    this.facts = factsWith(this.facts, frames);
    if (firstRow === 0 && this.facts.rows > 0) this.sinceMs = performance.now();
    if (manifest !== undefined) this.manifestVersion = manifest.version;
  }

  cut(): Promise<void> {
    return this.#file.truncate(this.facts.bytes);
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
