import { systemClock } from '../../base/clock.ts';
import { findOrganization } from '../../control/organizations.ts';
import { CheckpointTable } from '../../evidence/checkpoint-table.ts';
import { entriesOf } from '../../evidence/event-entries.ts';
import { readKeys } from '../../evidence/log-key.ts';
import { TileTable } from '../../evidence/tile-table.ts';
import { EventAudit } from '../../tlog/event-audit.ts';
import { entryAt, entryBytes } from '../../tlog/entry.ts';
import { NoteError, verifierKeyFor } from '../../tlog/note.ts';
import { tileWidth } from '../../tlog/tile.ts';
import { TreeAudit } from '../../tlog/tree-audit.ts';
import { Trust } from '../../tlog/trust.ts';
import { limits } from '../limits.ts';
import { createProgress } from '../progress.ts';
import type { Session } from '../session.ts';
import { checkpointFiles, Checkpoints, trustOf, type TrustOptions } from './checkpoints.ts';
import { CopyAudit, TreeCopy } from './copy.ts';
import { contradictionsIn, differencesIn, type Report } from './report.ts';

/** Entries of the tree and of what is stored now, of one stretch of the order. */
interface Chunk {
  readonly entries: Buffer;
  readonly events: Buffer;
  readonly lastSeq: bigint;
}

/** An organization in the engine against its checkpoints: those that were given, and those that the engine has. */
export async function verifyEngine(session: Session, slug: string, options: TrustOptions): Promise<Report> {
  const { storage, config, deps } = session;
  const { id } = await findOrganization(storage, slug);
  const origin = `${config.serviceName}/${id}`;
  const keys = await readKeys(storage);
  const notes: string[] = [];
  let trust = await trustOf(options);
  if (trust === undefined) {
    notes.push(
      'no --key was given: the keys are those that the engine names, which proves nothing against who can write to it',
    );
    trust = new Trust(keys.map(({ key }) => verifierKeyFor(origin, Buffer.from(key, 'base64'))));
  }
  trust.follow(
    config.serviceName,
    keys.map(({ key, statement }) => ({ publicKey: Buffer.from(key, 'base64'), statement })),
  );
  const checkpoints = new Checkpoints(trust, origin);
  for (const text of await checkpointFiles(options.checkpoint)) checkpoints.add(text);
  const copy = options.copy === undefined ? undefined : await TreeCopy.open(options.copy, id);
  for (const text of (await copy?.checkpoints()) ?? []) checkpoints.add(text);
  if (options.checkpoint === undefined && copy === undefined)
    notes.push(
      'no --checkpoint was given: those in the engine can have been taken back together with events',
    );
  notes.push(...(await addStored(checkpoints, new CheckpointTable(storage), id)));

  const tree = new TreeAudit(checkpoints.heads);
  const events = new EventAudit(systemClock());
  const progress = createProgress(deps.io, { items: 'events', total: checkpoints.covered });
  const source = new EntrySource(new TileTable(storage), id, copy);
  for await (const chunk of chunksOf(session, id, source)) {
    tree.add(chunk.entries);
    events.compare(chunk.entries, chunk.events);
    progress.at(tree.size, tree.size);
  }
  progress.end();
  const found = events.findings();
  if (found.expired > 0) notes.push(`${found.expired} events are gone whose time was over`);
  const uncovered = tree.size - checkpoints.covered;
  if (uncovered > 0) notes.push(`the last ${uncovered} events are in the tree and in no checkpoint yet`);
  const findings = [
    ...checkpoints.findings,
    ...differencesIn(found),
    ...source.findings,
    ...contradictionsIn(tree.findings()),
  ];
  if (checkpoints.covered === 0)
    findings.push({ kind: 'unproven', detail: 'there is no checkpoint that a trusted key has signed' });
  return {
    origin,
    events: tree.size,
    covered: checkpoints.covered,
    findings,
    notes: [...notes, ...checkpoints.notes],
  };
}

/** Adds what the engine has: the newest, and so many before it, spread evenly, as each narrows down where a change is. */
async function addStored(
  checkpoints: Checkpoints,
  table: CheckpointTable,
  organization: string,
): Promise<string[]> {
  const notes: string[] = [];
  for (const { text, size } of await table.spread(organization, limits.verifyCheckpointsMax)) {
    try {
      checkpoints.add(text);
    } catch (error) {
      if (!(error instanceof NoteError)) throw error;
      notes.push(`a checkpoint of ${size} events in the engine is passed over: ${error.message}`);
    }
  }
  return notes;
}

/** The entries of the tree: those of a copy, as far as there is one, else those in the engine. */
class EntrySource {
  readonly #tiles: TileTable;
  readonly #organization: string;
  readonly #copy: TreeCopy | undefined;
  readonly #audit: CopyAudit | undefined;

  constructor(tiles: TileTable, organization: string, copy: TreeCopy | undefined) {
    this.#tiles = tiles;
    this.#organization = organization;
    this.#copy = copy;
    this.#audit =
      copy === undefined ? undefined : new CopyAudit(copy, 'contradicted', 'the tree of the engine');
  }

  /** Where the tree in the engine is another one than the copy. */
  get findings(): CopyAudit['findings'] {
    return this.#audit?.findings ?? [];
  }

  /** The entries of so many tiles as are looked at at once; empty behind the last. */
  async read(firstTile: number): Promise<Buffer> {
    const found = await this.#tiles.lowest(this.#organization, firstTile, limits.verifyTilesAtOnce);
    const stored = Buffer.concat(found.map(({ content, width }) => content.subarray(0, width * entryBytes)));
    const copied = await this.#copy?.entries(firstTile, limits.verifyTilesAtOnce);
    if (copied === undefined) return stored;
    this.#audit?.compare(stored, copied, firstTile * tileWidth);
    return Buffer.concat([copied, stored.subarray(copied.length)]);
  }
}

/** Stretch by stretch, the next one being read while this one is looked at. The last has what is behind the tree. */
async function* chunksOf(session: Session, organization: string, source: EntrySource): AsyncGenerator<Chunk> {
  const read = async (from: number, after: bigint): Promise<Chunk | undefined> => {
    const entries = await source.read(from);
    if (entries.length === 0) return undefined;
    const lastSeq = entryAt(entries, entries.length / entryBytes - 1).seq;
    const stretch = { from: after + 1n, before: lastSeq + 1n };
    const events = await entriesOf(session.storage, organization, stretch);
    return { entries, events, lastSeq };
  };
  let next = read(0, -1n);
  for (let from = limits.verifyTilesAtOnce; ; from += limits.verifyTilesAtOnce) {
    const chunk = await next;
    if (chunk === undefined) return;
    next = read(from, chunk.lastSeq);
    // Looked at when it is waited for.
    next.catch(() => undefined);
    yield chunk;
    if (chunk.entries.length < limits.verifyTilesAtOnce * tileWidth * entryBytes) return;
  }
}
