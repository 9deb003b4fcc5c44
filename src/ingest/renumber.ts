import { join } from 'node:path';
import { crc32c } from '@node-rs/crc32';
import type { Logger } from '../base/observability/log.ts';
import { nextSegmentNumber } from '../base/events/sequence.ts';
import { type LogFiles, openLogFiles } from './files.ts';
import { entryOf } from './answer-records.ts';
import { AnswerStore } from './answer-store.ts';
import type { ManifestEntry } from './manifest.ts';
import { type DamageReports, type Recovered, Recovery } from './recovery.ts';
import type { SealedSegment } from './sealed-segments.ts';
import {
  assess,
  type EncodedFrame,
  encodeFileHeader,
  encodeFrame,
  encodeManifestFrame,
  evidenceName,
  factsWith,
  fileHeaderBytes,
  frameSeed,
  framesOf,
  scanSegment,
  segmentName,
  unfinishedEnding,
} from './segment.ts';
import { projectFile } from '../base/files/project-file.ts';

export interface RenumberOptions {
  /** Holds the folders `wal` and `idempotency`. */
  readonly dataDir: string;
  /** The folder `wal`, where it is not to be opened here. */
  readonly files?: LogFiles;
  readonly log: Logger;
  /** As of `openIngest`. */
  readonly answersNowMs?: () => number;
  readonly damage: DamageReports;
  /** The number that segments get from here on. */
  readonly writer: number;
  /** The segment number that they are above. */
  readonly after: number;
  /** How many rows of a segment the table has under the segment's old number, which nobody sends any more. */
  storedRowsOf(segment: number): Promise<number>;
}

/** What becomes of the files of the log, all of it or nothing. */
interface Plan {
  /** Whole and durable, with `unfinishedEnding`. */
  readonly made: readonly string[];
  readonly dropped: readonly string[];
  /** Names, and those under which they are kept as evidence. */
  readonly kept: readonly (readonly [from: string, to: string])[];
}

/** In the log's folder while a plan is being carried out. */
const planName = 'renumbering';

/**
 * Gives the events of a log new places in the order, for a server that was fenced: the feed has passed those that
 * they had. To be called before the log is opened.
 *
 *     segments ──▶ 7.wal.new 8.wal.new … ──▶ renumbering (the plan) ──▶ names changed, old files removed ──▶ done
 *                  a crash here: begun anew   └────────── a crash here: carried out by the next start
 *
 * A segment that the table has already keeps its places, and goes; its answers to repeated requests are kept. A request
 * that was repeated to another process meanwhile, and stored there, goes too. Rejects with EngineError.
 */
export async function renumberLog(options: RenumberOptions): Promise<void> {
  const files = options.files ?? (await openLogFiles(join(options.dataDir, 'wal')));
  if ((await files.list()).includes(planName)) {
    const plan = JSON.parse((await files.read(planName)).toString('utf8')) as Plan;
    return carryOut(files, plan);
  }
  const { log, damage } = options;
  const recovered = await new Recovery({ files, log, damage }).run();
  const renumbering = new Renumbering(options, files, recovered);
  for (const segment of recovered.segments) await renumbering.take(segment);
  const plan = await renumbering.finish();
  await writeFile(files, `${planName}${unfinishedEnding}`, [Buffer.from(JSON.stringify(plan))]);
  // The plan must not be there without the files that it names.
  await files.syncDirectory();
  await files.rename(`${planName}${unfinishedEnding}`, planName);
  await files.syncDirectory();
  await carryOut(files, plan);
}

class Renumbering {
  readonly #options: RenumberOptions;
  readonly #files: LogFiles;
  readonly #recovered: Recovered;
  readonly #entries: ManifestEntry[] = [];
  readonly #dropped: string[];
  readonly #kept: (readonly [string, string])[] = [];
  #number: number;
  #storedRows = 0;

  constructor(options: RenumberOptions, files: LogFiles, recovered: Recovered) {
    this.#options = options;
    this.#files = files;
    this.#recovered = recovered;
    this.#number = Math.max(recovered.highest, options.after);
    this.#dropped = [...recovered.empty];
  }

  async take(segment: SealedSegment): Promise<void> {
    const { number, isDamaged } = segment;
    const name = segmentName(number);
    const file = await this.#files.read(name);
    const stored = await this.#options.storedRowsOf(number);
    // A part alone can be there on a cluster. Nobody can tell which, so no row is left out and none is doubled.
    if (stored > 0 && stored < segment.rows)
      throw new Error(
        `segment ${number} of the log has ${stored} of ${segment.rows} events stored: it cannot take new places; ` +
          `${projectFile('docs/operate.md')} says under "Writers that do not come back" what to do`,
      );
    if (stored > 0) await this.#keepAnswers(file, segment);
    else await this.#copy(file, segment);
    this.#storedRows += stored;
    if (isDamaged) this.#kept.push([name, evidenceName(number, 'damaged')]);
    else this.#dropped.push(name);
  }

  /** An empty segment with a manifest of all others: what it does not name is not missed. */
  async finish(): Promise<Plan> {
    const number = this.#next();
    const position = { seed: frameSeed(number), firstRow: 0, durableBytes: fileHeaderBytes };
    const manifest = { version: this.#recovered.manifestVersion + 1, entries: this.#entries };
    const frame = encodeManifestFrame(manifest, position);
    await this.#write(number, [frame]);
    const rows = this.#entries.reduce((sum, entry) => sum + entry.rows, 0);
    const facts = {
      segments: this.#entries.length,
      events: rows,
      storedBefore: this.#storedRows,
    };
    const words = 'this server was fenced: the events in its log take new places in the order of ingest';
    this.#options.log.warn(facts, words);
    const made = [...this.#entries.map((entry) => entry.number), number].map(segmentName);
    return { made, dropped: this.#dropped, kept: this.#kept };
  }

  #next(): number {
    this.#number = nextSegmentNumber(Date.now(), this.#options.writer, this.#number);
    return this.#number;
  }

  async #copy(file: Buffer, segment: SealedSegment): Promise<void> {
    const scanned = scanSegment(file.subarray(0, segment.bytes), segment.number);
    const found = assess(scanned, segment.bytes).frames.flatMap((one) =>
      framesOf(file, [one]).map((frame) => ({ ...frame, following: one.following })),
    );
    if (found.length === 0) return;
    const number = this.#next();
    const seed = frameSeed(number);
    const frames: EncodedFrame[] = [];
    let firstRow = 0;
    for (const { rows, payload, notes, following } of found) {
      const input = {
        rows,
        payload,
        payloadCrc: crc32c(payload),
        notes: Buffer.from(notes).toString('utf8'),
      };
      frames.push(encodeFrame(input, { seed, firstRow, durableBytes: fileHeaderBytes }, following));
      firstRow += rows;
    }
    await this.#write(number, frames);
    const facts = factsWith({ bytes: fileHeaderBytes, rows: 0, checksum: 0 }, frames);
    this.#entries.push({ number, ...facts, isOpen: false });
  }

  async #keepAnswers(file: Buffer, { number, bytes }: SealedSegment): Promise<void> {
    const { dataDir, answersNowMs = Date.now } = this.#options;
    const { frames } = assess(scanSegment(file.subarray(0, bytes), number), bytes);
    const answers = await AnswerStore.open(await openLogFiles(join(dataDir, 'idempotency')), answersNowMs);
    const notes = framesOf(file, frames).flatMap((frame) => (frame.notes.length > 0 ? [frame.notes] : []));
    await answers.keep(notes.map(entryOf));
  }

  async #write(number: number, frames: readonly EncodedFrame[]): Promise<void> {
    const parts = [encodeFileHeader(number), ...frames.flatMap((frame) => frame.parts)];
    await writeFile(this.#files, `${segmentName(number)}${unfinishedEnding}`, parts);
  }
}

async function writeFile(files: LogFiles, name: string, parts: readonly Uint8Array[]): Promise<void> {
  if ((await files.list()).includes(name)) await files.remove(name);
  const file = await files.create(name);
  try {
    await file.append(parts);
  } finally {
    await file.close();
  }
}

/** Each step may have been done by a start that was killed. */
async function carryOut(files: LogFiles, { made, dropped, kept }: Plan): Promise<void> {
  const there = new Set(await files.list());
  const renames = [...made.map((name) => [`${name}${unfinishedEnding}`, name] as const), ...kept];
  for (const [from, to] of renames) if (there.has(from)) await files.rename(from, to);
  for (const name of dropped) if (there.has(name)) await files.remove(name);
  await files.syncDirectory();
  await files.remove(planName);
  await files.syncDirectory();
}
