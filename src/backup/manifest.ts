import { createHash } from 'node:crypto';
import { Problem } from '../base/errors/problem.ts';
import { limits } from './limits.ts';
import type { Slice } from './slices.ts';
import type { Snapshot } from './snapshot.ts';
import type { BackupPlace } from './place.ts';

/** A file of a backup, its path below the backup's own. */
export interface StoredFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Bytes in order, divided into files. */
export type Files = readonly StoredFile[];

/** Events of a month of recording, in blocks of the engine's Native format. */
export interface StoredMonth {
  /** Such as 202403. */
  readonly month: number;
  /** A stretch of the order of ingest that has all of them. */
  readonly from: string;
  readonly before: string;
  readonly events: number;
  /** A line of JSON for each organization in each slice (`CountRow`). */
  readonly counts: Files;
  readonly slices: readonly (Slice & { readonly events: number; readonly files: Files })[];
}

/** How many events an organization has in a slice, and a hash of every column of all of them. */
export interface CountRow {
  readonly organization: string;
  readonly events: number;
  readonly hash: string;
}

export interface StoredTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly files: Files;
}

interface StoredSegment {
  readonly number: number;
  readonly rows: number;
  readonly bytes: number;
  readonly checksum: number;
  readonly isDamaged: boolean;
  readonly manifestVersion: number;
  readonly files: Files;
}

/** Events of an organization, by their times and places in the order; see `RemovalBounds`. */
interface StoredBounds {
  readonly organization: string;
  readonly beforeMicros: number;
  readonly below: string;
}

/** What a backup is; written last, and all else that it has is named here. */
export interface Manifest {
  readonly format: number;
  readonly release: string;
  readonly id: string;
  /** RFC 3339: whatever was acknowledged before is in it. */
  readonly moment: string;
  /** The database that it is of. */
  readonly source: string;
  /** The backup that has all that this one leaves out; null: none. */
  readonly base: Link | null;
  /** Which events are in it and its bases. */
  readonly snapshot: Snapshot;
  /**
   * Ids of the erasures of persons that all its events have gone through: what has gone through another one cannot stand
   * on it. Of those that were under way it has the plans.
   */
  readonly erasures: readonly string[];
  /** Bounds within which nothing is left of an organization, where its bases may have events. */
  readonly removed: readonly StoredBounds[];
  /** The first place in the order of ingest that no tree of evidence has. */
  readonly evidence: string;
  /** The events of all backups up to this one together. */
  readonly events: number;
  readonly organizations: number;
  /** The columns of the table of events; those of its base are the same. */
  readonly columns: readonly string[];
  readonly months: readonly StoredMonth[];
  readonly tables: readonly StoredTable[];
  readonly log: {
    readonly segments: readonly StoredSegment[];
    /** What the log has kept as evidence of damage. */
    readonly kept: readonly { readonly name: string; readonly files: Files }[];
    /** Remembered answers to requests with an Idempotency-Key. */
    readonly answers: Files;
  };
  readonly secrets: readonly { readonly name: string; readonly files: Files }[];
}

/** A backup by its id and the SHA-256 of its manifest. */
export interface Link {
  readonly id: string;
  readonly sha256: string;
}

export const manifestFormat = 1;
export const manifestName = 'manifest.json';

export const sha256Of = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

export function filesOf({ months, tables, log, secrets }: Manifest): StoredFile[] {
  return [
    ...months.flatMap(({ counts, slices }) => [...counts, ...slices.flatMap(({ files }) => files)]),
    ...[...tables, ...log.segments, ...log.kept, ...secrets].flatMap(({ files }) => files),
    ...log.answers,
  ];
}

export const eventsInLog = ({ log }: Manifest): number =>
  log.segments.reduce((sum, { rows }) => sum + rows, 0);

/** The newest backup of a place, as `latest.json` says; undefined where there is none. Rejects with a Problem. */
export async function latestOf(place: BackupPlace): Promise<Link | undefined> {
  const text = await place.latest();
  if (text === undefined) return undefined;
  const { format, id, sha256 } = parse(Buffer.from(text), `${place.name}: latest.json`) as Partial<Link> & {
    format?: unknown;
  };
  requireFormat(format, `${place.name}: latest.json`);
  if (typeof id !== 'string' || typeof sha256 !== 'string')
    throw new Problem('conflict', `${place.name}: latest.json names no backup: it is damaged`);
  return { id, sha256 };
}

export const latestText = (link: Link): string => `${JSON.stringify({ format: manifestFormat, ...link })}\n`;

/** The manifest that a link leads to. Rejects with a Problem where it is missing, altered, or of a release that is not known. */
async function manifestOf(place: BackupPlace, { id, sha256 }: Link): Promise<Manifest> {
  const content = await place.get(id, manifestName);
  const what = `the backup ${id} in ${place.name}`;
  if (content === undefined) throw new Problem('conflict', `${what} is missing, or was never finished`);
  if (sha256Of(content) !== sha256) throw new Problem('conflict', `the manifest of ${what} was altered`);
  const manifest = parse(content, `the manifest of ${what}`) as Manifest;
  requireFormat(manifest.format, `the manifest of ${what}`);
  return manifest;
}

/**
 * The link to a backup: by those that stand on it. Where a full one came since, or one above it is damaged, by its manifest as
 * that is now. Rejects with a Problem.
 */
async function linkTo(place: BackupPlace, id: string): Promise<Link> {
  try {
    let link: Link | null = (await latestOf(place)) ?? null;
    while (link !== null && link.id !== id) link = (await manifestOf(place, link)).base;
    if (link !== null) return link;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
  const content = await place.get(id, manifestName);
  if (content === undefined) throw new Problem('conflict', `${place.name} has no backup ${id}`);
  return { id, sha256: sha256Of(content) };
}

/** A backup with all that it stands on, the oldest first: `to`, else the newest in the place. Rejects with a Problem. */
export async function chainOf(place: BackupPlace, to?: string): Promise<Manifest[]> {
  let link: Link | null | undefined = to === undefined ? await latestOf(place) : await linkTo(place, to);
  if (link === undefined)
    throw new Problem(
      'conflict',
      `${place.name} has no backup that was finished: name a place that "auditlog backup --to" has written to`,
    );
  const chain: Manifest[] = [];
  while (link !== null) {
    if (chain.length >= limits.backupChainMax)
      throw new Problem('conflict', `more than ${limits.backupChainMax} backups stand on each other`);
    const manifest: Manifest = await manifestOf(place, link);
    chain.unshift(manifest);
    link = manifest.base;
  }
  return chain;
}

function parse(content: Buffer, what: string): unknown {
  try {
    const value: unknown = JSON.parse(content.toString('utf8'));
    if (typeof value === 'object' && value !== null) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new Problem('conflict', `${what} is not JSON: it is damaged`);
}

function requireFormat(format: unknown, what: string): void {
  if (format !== manifestFormat)
    throw new Problem(
      'conflict',
      `${what} has format ${JSON.stringify(format)}: this release reads format ${manifestFormat}`,
    );
}
