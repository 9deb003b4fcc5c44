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
  readonly empty: readonly string[];
  readonly highest: number;
  readonly manifestVersion: number;
}

export type DamageReports = Pick<DamageRegister, 'report'>;

export interface RecoveryDeps {
  readonly files: LogFiles;
  readonly log: Logger;
  readonly damage: DamageReports;
  readonly isExpected?: boolean;
}

interface ScannedSegment {
  readonly number: number;
  readonly scan: Scan;
}

/**
 * Reads the log of earlier runs and lists the segments with rows. It reports damage with its range and
 * deletes no file that it does not understand (contract: Operations). Only a segment that was open may have a
 * torn end (manifest.ts).
 */
export class Recovery {
  readonly #deps: RecoveryDeps;
  readonly #segments: SealedSegment[] = [];
  readonly #empty: string[] = [];
  #manifestAt = 0;

  constructor(deps: RecoveryDeps) {
    this.#deps = deps;
  }

  async run(): Promise<Recovered> {
    const scanned = await this.#scanAll();
    const head = await this.#readHead(scanned.some(hasRows));
    const { manifest, number: manifestAt = 0 } = lastManifest(scanned) ?? {};
    this.#manifestAt = manifestAt;
    const needed = new Map(manifest?.entries.map((entry) => [entry.number, entry]));
    const numbers = scanned.filter(isProven).map(({ number }) => number);
    const open = head?.closed?.open;
    // Applies only if no later segment was begun.
    if (open !== undefined && numbers.every((one) => one <= (head?.newest ?? 0)))
      needed.set(open.number, { ...open, isOpen: false });
    for (const { number, scan } of scanned) await this.#classify(number, scan, needed.get(number));
    const existing = new Set(scanned.map(({ number }) => number));
    const missed = [...needed.values()].filter(({ rows, isOpen }) => rows > 0 || isOpen);
    await this.#reportMissing(missed, existing);
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

  async #readHead(hasEvents: boolean): Promise<Head | undefined> {
    const { files, log, damage, isExpected = false } = this.#deps;
    const bytes = await files.head.read();
    const head = bytes && decodeHead(bytes);
    if (head !== undefined || (bytes === undefined && !hasEvents && !isExpected)) return head;
    const detail = `wal-head is ${bytes === undefined ? 'missing' : 'damaged'}: cannot check that the newest segments of the log exist`;
    log.error({}, detail);
    damage.report({ kind: 'log_segment', id: 'wal-head', detail });
    return undefined;
  }

  async #scanAll(): Promise<ScannedSegment[]> {
    const found: ScannedSegment[] = [];
    for (const name of await this.#deps.files.list()) {
      if (name.endsWith(`.wal${unfinishedEnding}`)) await this.#deps.files.remove(name);
      if (!name.endsWith('.wal')) continue;
      const number = segmentOfName(name);
      if (number === undefined) {
        await this.#quarantine(name, 'invalid segment name');
        continue;
      }
      const scan = scanSegment(await this.#read(name), number);
      const own = scan.header?.segment ?? number;
      if (own === number) found.push({ number, scan });
      else await this.#quarantine(name, `it contains segment ${own}`);
    }
    return found;
  }

  /** An unreadable file counts as empty: it is kept and reported. */
  async #read(name: string): Promise<Buffer> {
    try {
      return await this.#deps.files.read(name);
    } catch (error) {
      if (errorFacts(error).code !== 'EIO') throw error;
      this.#deps.log.error({ name, ...errorFacts(error) }, 'A log file cannot be read');
      return Buffer.alloc(0);
    }
  }

  async #quarantine(name: string, why: string): Promise<void> {
    const names = new Set(await this.#deps.files.list());
    let kept = name.replace(/wal$/, 'unknown');
    for (let n = 2; names.has(kept); n++) kept = name.replace(/wal$/, `${n}.unknown`);
    await this.#deps.files.rename(name, kept);
    this.#deps.log.error({ name, kept, why }, 'A file in the log folder is not a segment; it was renamed');
  }

  async #classify(number: number, scan: Scan, entry: ManifestEntry | undefined): Promise<void> {
    const durable = Math.max(fileHeaderBytes, entry?.bytes ?? 0);
    const found = assess(scan, durable, entry?.isOpen === false ? entry : undefined);
    if (found.damage.length > 0) this.#reportDamage(number, found, entry);
    if (found.tornBytes > 0) {
      const facts = { segment: number, tornBytes: found.tornBytes };
      this.#deps.log.info(
        facts,
        'The log ends in an unfinished write, which was never acknowledged; it is ignored',
      );
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

  /** A damaged segment above the last intact manifest may have had a later one. */
  #reportDamage(number: number, found: Assessment, entry: ManifestEntry | undefined): void {
    const rowsKept = found.rows;
    const rowsWritten = entry?.isOpen === false ? entry.rows : undefined;
    const words = 'Acknowledged events are damaged on disk; events outside this range are intact';
    for (const { from, to } of found.damage) {
      this.#deps.log.error({ segment: number, from, to, rowsKept, rowsWritten }, words);
    }
    const lost = rowsWritten === undefined ? '' : ` of ${rowsWritten}`;
    const blind =
      number >= this.#manifestAt ? '; its manifest is lost, so segments may be missing unnoticed' : '';
    const detail = `${rangesText(found.damage)} damaged, ${rowsKept}${lost} events are intact${blind}`;
    this.#deps.damage.report({ kind: 'log_segment', id: String(number), detail });
  }

  async #reportMissing(needed: readonly Missed[], existing: ReadonlySet<number>): Promise<void> {
    const names = new Set(await this.#deps.files.list());
    for (const missed of needed) {
      const isKept = evidenceKinds.some((kind) => names.has(evidenceName(missed.number, kind)));
      if (existing.has(missed.number) || isKept) continue;
      await noteMissing(missed, this.#deps);
    }
  }

  /** The newest segment, and perhaps others that only its manifest named; reported once. */
  async #reportGone(newest: number): Promise<void> {
    const { log } = this.#deps;
    const names = new Set(await this.#deps.files.list());
    if (evidenceKinds.some((kind) => names.has(evidenceName(newest, kind)))) return;
    const words =
      'The newest segments of the log are missing, up to this one: events not yet inserted are lost';
    log.error({ segment: newest }, words);
    await recordMissing(newest, 'the newest segments of the log are missing, up to this one', this.#deps);
  }

  /** Earlier damage stays reported until its file is removed. */
  async #reportKept(): Promise<void> {
    for (const name of await this.#deps.files.list()) {
      const [, number, as] = /^(\d{16})\.(damaged|missing|refused)$/.exec(name) ?? [];
      if (number === undefined) continue;
      const detail = `${name} records a ${as} segment; remove the file when you have dealt with it`;
      const isNew = this.#deps.damage.report({ kind: 'log_segment', id: String(Number(number)), detail });
      if (isNew)
        this.#deps.log.warn(
          { name },
          'An earlier run found damage in the log; remove this file when you have dealt with it',
        );
    }
  }
}

interface Missed {
  readonly number: number;
  readonly rows: number;
  /** It was open when this was recorded, so it may have had more rows. */
  readonly isOpen?: boolean;
}

export async function noteMissing(
  { number, rows, isOpen = false }: Missed,
  deps: Pick<RecoveryDeps, 'files' | 'log' | 'damage'>,
): Promise<void> {
  const words = 'A segment of the log is missing: events not yet inserted are lost';
  deps.log.error({ segment: number, [isOpen ? 'rowsWrittenAtLeast' : 'rowsWritten']: rows }, words);
  await recordMissing(number, `the file of ${isOpen ? 'at least ' : ''}${rows} events is missing`, deps);
}

async function recordMissing(
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

function lastManifest(found: readonly ScannedSegment[]) {
  const manifests = found.flatMap(({ number, scan: { manifest } }) =>
    manifest === undefined ? [] : { number, manifest },
  );
  return manifests.toSorted((one, other) => one.manifest.version - other.manifest.version).at(-1);
}

/** A first start may end before it writes the head; no event was acknowledged then. */
const hasRows = ({ scan }: ScannedSegment): boolean => scan.frames.some(({ rows }) => rows > 0);

function isOneLarge({ frames, bytes }: Assessment): boolean {
  const isOne = frames.every(({ following }, index) => following === frames.length - 1 - index);
  return isOne && bytes >= limits.walLargeAppendBytesMin;
}

/** A file name proves nothing: the number of a broken file counts only if a clock can have produced it. */
function isProven({ number, scan }: ScannedSegment): boolean {
  const isKnown = scan.header !== undefined || scan.frames.length > 0;
  return isKnown || number <= segmentNumberByClockMax;
}
