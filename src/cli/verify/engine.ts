import { readControlState } from '../../control/directory.ts';
import { findOrganization } from '../../control/organizations.ts';
import { CheckpointTable } from '../../evidence/checkpoint-table.ts';
import { endOfSlice, readEntries, type Run, TooManyEventsError } from '../../evidence/event-entries.ts';
import { readKeys } from '../../evidence/log-key.ts';
import { readProgress, watermarkOf } from '../../evidence/progress-table.ts';
import { TileTable } from '../../evidence/tile-table.ts';
import { EventAudit } from '../../tlog/event-audit.ts';
import { entryAt, entryBytes } from '../../tlog/entry.ts';
import { tileWidth } from '../../tlog/tile.ts';
import { NoteError, verifierKeyFor } from '../../tlog/note.ts';
import { ErasureHistory } from '../../tlog/erasure.ts';
import { TreeAudit } from '../../tlog/tree-audit.ts';
import { Trust } from '../../tlog/trust.ts';
import { limits as toolLimits } from '../../tools/limits.ts';
import { endOfOrder } from '../../backup/order-end.ts';
import { Throttle, type ThrottledSession } from '../../backup/throttle.ts';
import { createProgress, type Progress, type ProgressIo } from '../../tools/progress.ts';
import type { Config } from '../../config/config.ts';
import type { Storage } from '../../storage/storage.ts';
import { beyondTrees } from './beyond.ts';
import {
  checkpointFiles,
  Checkpoints,
  readTrust,
  type TrustOptions,
} from '../../tools/verify/checkpoints.ts';
import { CopyAudit, TreeCopy } from '../../tools/verify/copy.ts';
import { explainedByErasures } from '../../tools/verify/erasures.ts';
import { explainedBy, historyOf, notesOf } from '../../tools/verify/policies.ts';
import { readErasures } from './erasures.ts';
import { readPolicies } from './policies.ts';
import { contradictionsIn, differencesIn, type Report } from '../../tools/verify/report.ts';

/**
 * Uncompressed bytes a second and engine core that `verify` may always read beside running servers. This
 * takes some 2 % of the core: an event of a kilobyte costs 4 us (bench/notes.md, Evidence).
 */
const throttleVerifyBytes = 8_000_000;
/** Time limit of reading one range: at the slowest throttle, of large or widely spread events. */
const verifyStretchMsMax = 6 * 3_600_000;

export interface EngineOptions extends TrustOptions {
  readonly fullSpeed?: boolean;
}

interface Chunk {
  readonly entries: Buffer;
  readonly events: Run;
}

interface Verifying {
  readonly storage: Storage;
  readonly isShared: boolean;
  readonly config: Pick<Config, 'serviceName' | 'dataDir'> & ThrottledSession['config'];
  readonly deps: { readonly io: ProgressIo };
}

/** Compares an organization in the engine with its checkpoints: given ones and the engine's. */
export async function verifyEngine(
  { storage, isShared, config, deps }: Verifying,
  slug: string,
  options: EngineOptions,
): Promise<Report> {
  const { id } = findOrganization(await readControlState(storage), slug);
  const notes: string[] = [];
  const { checkpoints, copy } = await signedFor(storage, { service: config.serviceName, id }, options, notes);
  const tree = new TreeAudit(checkpoints.heads);
  const tiles = new TileTable(storage);
  const of = { organization: id, covered: checkpoints.covered };
  const { erasures: lists, findings: badLists } = await readErasures(storage, tiles, of);
  const erasures = new ErasureHistory(lists);
  const policies = await readPolicies(storage, tiles, of, erasures);
  const history = historyOf(policies);
  const events = new EventAudit((entry) => history.mayBeRemoved(entry), erasures);
  const progress = createProgress(deps.io, { items: 'events', total: checkpoints.covered });
  const source = new EntrySource(tiles, id, copy);
  const throttle = await makeThrottle({ storage, isShared, config }, options);
  const { covered } = checkpoints;
  const watermark = watermarkOf(await readProgress(storage), id);
  const stored = { storage, organization: id, source, throttle, covered, watermark };
  const flood = await compareAll(stored, { tree, events, progress });
  progress.end();
  const place = { organization: id, watermark, end: await endOfOrder(storage, config), position: tree.size };
  const beyond = await beyondTrees(storage, place);
  notes.push(...notesOf(history), ...beyond.notes);
  const uncovered = tree.size - covered;
  if (uncovered > 0) notes.push(`the last ${uncovered} events are in the tree, but in no checkpoint yet`);
  const differences = [...badLists, ...differencesIn(events.findings())];
  const findings = [
    ...checkpoints.findings,
    ...differences,
    ...source.findings,
    ...flood,
    ...beyond.findings,
  ];
  if (flood.length === 0) findings.push(...contradictionsIn(tree.findings()));
  if (checkpoints.covered === 0)
    findings.push({ kind: 'unproven', detail: 'no checkpoint is signed by a trusted key' });
  return {
    origin: checkpoints.origin,
    events: tree.size,
    covered: checkpoints.covered,
    findings,
    confirm: [...explainedBy(history, policies), ...explainedByErasures(erasures)],
    notes: [...notes],
  };
}

async function signedFor(
  storage: Storage,
  { service, id }: { readonly service: string; readonly id: string },
  options: EngineOptions,
  notes: string[],
) {
  const origin = `${service}/${id}`;
  const trust = await trustIn(storage, service, origin, options, notes);
  const checkpoints = new Checkpoints(trust, origin);
  for (const file of await checkpointFiles(options.checkpoint, id)) checkpoints.addFile(file);
  const copy = options.copy === undefined ? undefined : await TreeCopy.open(options.copy, id);
  for (const text of (await copy?.checkpoints()) ?? []) checkpoints.add(text);
  if (options.checkpoint === undefined && copy === undefined)
    notes.push(
      'without --checkpoint, the checkpoints in the engine may have been replaced together with events',
    );
  notes.push(...(await addStored(checkpoints, new CheckpointTable(storage), id)));
  return { checkpoints, copy };
}

const makeThrottle = (context: ThrottledSession, { fullSpeed = false }: EngineOptions): Promise<Throttle> =>
  Throttle.of(context, throttleVerifyBytes, fullSpeed);

/**
 * The trusted keys; keys from the engine only if another trusted key signed for them. Rejects if they belong
 * to another log.
 */
async function trustIn(
  storage: Storage,
  serviceName: string,
  origin: string,
  options: EngineOptions,
  notes: string[],
): Promise<Trust> {
  const keys = await readKeys(storage);
  const trust = await readTrust(options);
  if (trust === undefined) {
    notes.push(
      'without --key, the keys come from the engine, which proves nothing against anyone who can write to it',
    );
    // None before the first checkpoint, which makes the key.
    return new Trust(keys.map(({ key }) => verifierKeyFor(origin, Buffer.from(key, 'base64'))));
  }
  trust.follow(
    serviceName,
    keys.map(({ key, statement }) => ({ publicKey: Buffer.from(key, 'base64'), statement })),
  );
  trust.keysOf(origin);
  return trust;
}

interface Stored {
  readonly storage: Storage;
  readonly organization: string;
  readonly source: EntrySource;
  readonly throttle: Throttle;
  readonly covered: number;
  /** At the beginning. */
  readonly watermark: bigint;
}

interface Audits {
  readonly tree: TreeAudit;
  readonly events: EventAudit;
  readonly progress: Progress;
}

/** Compares tree and table completely; a range with too many rows to compare is a finding. */
async function compareAll(stored: Stored, { tree, events, progress }: Audits): Promise<Report['findings']> {
  try {
    for await (const { entries, events: now } of readChunks(stored)) {
      // The engine hashed the stored events: if these equal the tree's, the leaves are the tree's.
      const isSame = entries.equals(now.entries);
      tree.add(entries, isSame ? now.leaves : undefined);
      events.compare(entries, now.entries);
      progress.at(tree.size, tree.size);
    }
    return [];
  } catch (error) {
    if (!(error instanceof TooManyEventsError)) throw error;
    const position = tree.size;
    const detail = `after position ${position} the table has far more events than the tree: they were inserted afterwards`;
    return [{ kind: 'added', position, detail }];
  }
}

/** Adds the engine's newest checkpoint, and others spread evenly before it, which narrow down a change. */
async function addStored(
  checkpoints: Checkpoints,
  table: CheckpointTable,
  organization: string,
): Promise<string[]> {
  const notes: string[] = [];
  for (const { text, size } of await table.spread(organization, toolLimits.verifyCheckpointsMax)) {
    try {
      checkpoints.add(text);
    } catch (error) {
      if (!(error instanceof NoteError)) throw error;
      notes.push(`a checkpoint of ${size} events in the engine is ignored: ${error.message}`);
    }
  }
  return notes;
}

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

  get findings(): CopyAudit['findings'] {
    return this.#audit?.findings ?? [];
  }

  async read(firstTile: number): Promise<Buffer> {
    const stored = await this.#tiles.entries(this.#organization, firstTile, toolLimits.verifyTilesAtOnce);
    const copied = await this.#copy?.entries(firstTile, toolLimits.verifyTilesAtOnce);
    if (copied === undefined) return stored;
    this.#audit?.compare(stored, copied, firstTile * tileWidth);
    return Buffer.concat([copied, stored.subarray(copied.length)]);
  }
}

const lastSeq = 2n ** 64n - 1n;

/**
 * Whether more entries may follow. Fewer than requested means that the tree ended here; entries added since
 * are in tiles already read, so continuing would omit events.
 */
const isWhole = (entries: Buffer): boolean =>
  entries.length === toolLimits.verifyTilesAtOnce * tileWidth * entryBytes;

/**
 * Range by range, prefetching the next. It ends where the trees stood at the beginning, because they may grow
 * as fast as they are read. After the tree come stored events up to there, which were inserted afterwards.
 */
async function* readChunks(stored: Stored): AsyncGenerator<Chunk> {
  const { storage, organization, source, throttle, covered, watermark } = stored;
  const eventsOf = (from: bigint, before: bigint) =>
    readEntries(
      storage,
      organization,
      { from, before },
      { settings: throttle.settings(), timeoutMs: verifyStretchMsMax },
    );
  let from = 0n;
  let entries = await source.read(0);
  let events: Promise<Run> | undefined;
  for (let tile = toolLimits.verifyTilesAtOnce; entries.length > 0; tile += toolLimits.verifyTilesAtOnce) {
    const end = endOf(entries);
    const isLast = !isWhole(entries) || (end >= watermark && tile * tileWidth >= covered);
    const behind = isLast ? Buffer.alloc(0) : source.read(tile);
    const [now, next] = await Promise.all([events ?? eventsOf(from, end), behind]);
    if (next.length > 0) events = handled(eventsOf(end, endOf(next)));
    yield { entries, events: now };
    from = end;
    entries = next;
  }
  while (from < watermark) {
    const end = await endOfSlice(storage, organization, { from, before: watermark });
    yield { entries: Buffer.alloc(0), events: await eventsOf(from, end) };
    from = end;
  }
}

/** The order number after those of entries; the last possible one if an altered entry has it. */
function endOf(entries: Buffer): bigint {
  const { seq } = entryAt(entries, entries.length / entryBytes - 1);
  return seq === lastSeq ? seq : seq + 1n;
}

function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
