import type { DamageRegister } from '../base/observability/damage.ts';
import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import type { LogFiles } from './files.ts';
import { decodeHead, type Head } from './log-head.ts';
import type { ManifestEntry } from './manifest.ts';
import type { SealedSegment } from './sealed-segments.ts';
import {
  assess,
  type Assessment,
  evidenceKinds,
  evidenceName,
  fileHeaderBytes,
  rangesText,
  type Scan,
  scanSegment,
  segmentName,
  segmentOfName,
  unfinishedEnding,
} from './segment.ts';
import { segmentNumberByClockMax } from '../base/events/sequence.ts';

export interface Recovered {
  readonly segments: SealedSegment[];
  /** Names of files that hold nothing. */
  readonly empty: readonly string[];
  /** The last number that is taken; 0 when there is none. */
  readonly highest: number;
  /** The version of the last manifest; 0 when there is none. */
  readonly manifestVersion: number;
}

/** Where damage is told (see base/observability/damage.ts). */
export type DamageReports = Pick<DamageRegister, 'report'>;

export interface RecoveryDeps {
  readonly files: LogFiles;
  readonly log: Logger;
  readonly damage: DamageReports;
  /** There was a log here before, whatever is left of it. */
  readonly isExpected?: boolean;
}

interface ScannedSegment {
  readonly number: number;
  readonly scan: Scan;
}

/**
 * Reads what is left of earlier runs and lists the segments that hold rows. Damage is reported with its range, and
 * nothing that is not understood is deleted (contract: Operations). Only a segment that was open may have a torn end;
 * see manifest.ts for how that is known.
 */
export class Recovery {
  readonly #deps: RecoveryDeps;
  readonly #segments: SealedSegment[] = [];
  readonly #empty: string[] = [];
  /** The segment that holds the last manifest. */
  #manifestAt = 0;

  constructor(deps: RecoveryDeps) {
    this.#deps = deps;
  }

  async run(): Promise<Recovered> {
    const found = await this.#scanAll();
    const head = await this.#readHead(found.some(hasRows));
    const { manifest, number: manifestAt = 0 } = lastManifest(found) ?? {};
    this.#manifestAt = manifestAt;
    const needed = new Map(manifest?.entries.map((entry) => [entry.number, entry]));
    const numbers = found.filter(isProven).map(({ number }) => number);
    const open = head?.closed?.open;
    // What came later does not know the head.
    if (open !== undefined && numbers.every((one) => one <= (head?.newest ?? 0)))
      needed.set(open.number, { ...open, isOpen: false });
    for (const { number, scan } of found) await this.#take(number, scan, needed.get(number));
    const there = new Set(found.map(({ number }) => number));
    const missed = [...needed.values()].filter(({ rows, isOpen }) => rows > 0 || isOpen);
    await this.#reportMissing(missed, there);
    const isEmpty = head?.closed?.waiting === 0 && open?.rows === 0;
    if (head !== undefined && !isEmpty && numbers.every((one) => one < head.newest))
      await this.#reportGone(head.newest);
    await this.#reportKept();
    return {
      segments: this.#segments,
      empty: this.#empty,
      highest: [...numbers, ...needed.keys()].reduce(
        (most, number) => Math.max(most, number),
        head?.newest ?? 0,
      ),
      manifestVersion: manifest?.version ?? 0,
    };
  }

  /** What is known of the log outside of its folder. */
  async #readHead(hasEvents: boolean): Promise<Head | undefined> {
    const { files, log, damage, isExpected = false } = this.#deps;
    const bytes = await files.head.read();
    const head = bytes && decodeHead(bytes);
    if (head !== undefined || (bytes === undefined && !hasEvents && !isExpected)) return head;
    const detail = `wal-head is ${bytes === undefined ? 'missing' : 'damaged'}: whether the newest segments of the log are there is not known`;
    log.error({}, detail);
    damage.report({ kind: 'log_segment', id: 'wal-head', detail });
    return undefined;
  }

  /** Every segment's file, in order; it quarantines what has the name of a segment and is none. */
  async #scanAll(): Promise<ScannedSegment[]> {
    const found: ScannedSegment[] = [];
    for (const name of await this.#deps.files.list()) {
      // Its segment was never used.
      if (name.endsWith(`.wal${unfinishedEnding}`)) await this.#deps.files.remove(name);
      if (!name.endsWith('.wal')) continue;
      const number = segmentOfName(name);
      if (number === undefined) {
        await this.#quarantine(name, 'its name is not that of a segment');
        continue;
      }
      const scan = scanSegment(await this.#read(name), number);
      const own = scan.header?.segment ?? number;
      if (own === number) found.push({ number, scan });
      else await this.#quarantine(name, `it holds segment ${own}`);
    }
    return found;
  }

  /** A file that the disk cannot read is as good as empty: it is kept, and told. */
  async #read(name: string): Promise<Buffer> {
    try {
      return await this.#deps.files.read(name);
    } catch (error) {
      if (errorFacts(error).code !== 'EIO') throw error;
      this.#deps.log.error({ name, ...errorFacts(error) }, 'a file of the log cannot be read');
      return Buffer.alloc(0);
    }
  }

  async #quarantine(name: string, why: string): Promise<void> {
    const names = new Set(await this.#deps.files.list());
    let kept = name.replace(/wal$/, 'unknown');
    for (let n = 2; names.has(kept); n++) kept = name.replace(/wal$/, `${n}.unknown`);
    await this.#deps.files.rename(name, kept);
    this.#deps.log.error({ name, kept, why }, 'a file in the log folder is not understood; it was set aside');
  }

  async #take(number: number, scan: Scan, entry: ManifestEntry | undefined): Promise<void> {
    // A file has its name once its header is durable.
    const durable = Math.max(fileHeaderBytes, entry?.bytes ?? 0);
    const found = assess(scan, durable, entry?.isOpen === false ? entry : undefined);
    if (found.damage.length > 0) this.#reportDamage(number, found, entry);
    if (found.tornBytes > 0) {
      const facts = { segment: number, tornBytes: found.tornBytes };
      this.#deps.log.info(facts, 'the log ends in an unfinished write, which is left out');
    }
    const isDamaged = found.damage.length > 0;
    if (found.rows > 0) {
      const { rows, bytes } = found;
      const sealed = entry?.isOpen === false ? entry : found;
      const sinceMs = performance.now();
      const facts = { number, rows, bytes, sealed, isLarge: isOneLarge(found), sinceMs };
      this.#segments.push({ ...facts, isDamaged });
    } else if (isDamaged) {
      await this.#deps.files.rename(segmentName(number), evidenceName(number, 'damaged'));
      await this.#deps.files.syncDirectory();
    } else {
      this.#empty.push(segmentName(number));
    }
  }

  /** A damaged segment above those with an intact manifest may have held the last one. */
  #reportDamage(number: number, found: Assessment, entry: ManifestEntry | undefined): void {
    const rowsKept = found.rows;
    const rowsWritten = entry?.isOpen === false ? entry.rows : undefined;
    const words = 'acknowledged events are damaged on disk; everything outside this range was kept';
    for (const { from, to } of found.damage) {
      this.#deps.log.error({ segment: number, from, to, rowsKept, rowsWritten }, words);
    }
    const lost = rowsWritten === undefined ? '' : ` of ${rowsWritten}`;
    const blind =
      number >= this.#manifestAt ? '; what else it named is not known, and may be missing, too' : '';
    const detail = `${rangesText(found.damage)} damaged, ${rowsKept}${lost} events are intact${blind}`;
    this.#deps.damage.report({ kind: 'log_segment', id: String(number), detail });
  }

  /** Segments that are needed and are not there; each is told once, and kept in mind by a file of its own. */
  async #reportMissing(needed: readonly Missed[], found: ReadonlySet<number>): Promise<void> {
    const names = new Set(await this.#deps.files.list());
    for (const missed of needed) {
      const isKept = evidenceKinds.some((kind) => names.has(evidenceName(missed.number, kind)));
      if (found.has(missed.number) || isKept) continue;
      await noteMissing(missed, this.#deps);
    }
  }

  /** The newest segment, and perhaps some before it that only its manifest named; told once, as a missing segment is. */
  async #reportGone(newest: number): Promise<void> {
    const { log } = this.#deps;
    const names = new Set(await this.#deps.files.list());
    if (evidenceKinds.some((kind) => names.has(evidenceName(newest, kind)))) return;
    const words =
      'the newest segments of the log are missing, up to this one: events that are not in the engine yet are lost';
    log.error({ segment: newest }, words);
    await keepInMind(newest, 'the newest segments of the log are missing, up to this one', this.#deps);
  }

  /** What earlier runs quarantined stays known until somebody takes the files away. */
  async #reportKept(): Promise<void> {
    for (const name of await this.#deps.files.list()) {
      const [, number, as] = /^(\d{16})\.(damaged|missing|refused)$/.exec(name) ?? [];
      if (number === undefined) continue;
      const detail = `${name} tells of a ${as} segment; take the file away when you have dealt with it`;
      const isNew = this.#deps.damage.report({ kind: 'log_segment', id: String(Number(number)), detail });
      if (isNew)
        this.#deps.log.warn({ name }, 'an earlier run found damage in the log; its file is still there');
    }
  }
}

/** A segment whose file is gone. */
interface Missed {
  readonly number: number;
  readonly rows: number;
  /** It was open when this was noted: it may have had more rows. */
  readonly isOpen?: boolean;
}

/** Tells of a segment whose file is gone, and leaves a file that says so. */
export async function noteMissing(
  { number, rows, isOpen = false }: Missed,
  deps: Pick<RecoveryDeps, 'files' | 'log' | 'damage'>,
): Promise<void> {
  const words = 'a segment of the log is missing: those of its events are lost that the engine has not got';
  deps.log.error({ segment: number, [isOpen ? 'rowsWrittenAtLeast' : 'rowsWritten']: rows }, words);
  await keepInMind(number, `the file of ${isOpen ? 'at least ' : ''}${rows} events is missing`, deps);
}

/** Reports a loss, and leaves a file that says so. */
async function keepInMind(
  number: number,
  detail: string,
  { files, damage }: Pick<RecoveryDeps, 'files' | 'damage'>,
): Promise<void> {
  damage.report({ kind: 'log_segment', id: String(number), detail });
  const file = await files.create(evidenceName(number, 'missing'));
  try {
    await file.append([Buffer.from(`${detail}\n`)]);
  } finally {
    await file.close();
  }
  await files.syncDirectory();
}

/** The one of the highest version, and its segment. */
function lastManifest(found: readonly ScannedSegment[]) {
  const manifests = found.flatMap(({ number, scan: { manifest } }) =>
    manifest === undefined ? [] : { number, manifest },
  );
  return manifests.toSorted((one, other) => one.manifest.version - other.manifest.version).at(-1);
}

/** The first start of all may end before it has written the head; then nothing was acknowledged. */
const hasRows = ({ scan }: ScannedSegment): boolean => scan.frames.some(({ rows }) => rows > 0);

/** Whether all frames are those of one large request. */
function isOneLarge({ frames, bytes }: Assessment): boolean {
  const isOne = frames.every(({ following }, index) => following === frames.length - 1 - index);
  return isOne && bytes >= limits.walLargeAppendBytesMin;
}

/** A name alone may be anybody's: the number of a broken file counts if a clock can have given it. */
function isProven({ number, scan }: ScannedSegment): boolean {
  const isKnown = scan.header !== undefined || scan.frames.length > 0;
  return isKnown || number <= segmentNumberByClockMax;
}
