import { Readable } from 'node:stream';
import type { Organization } from '../control/organizations.ts';
import { CheckpointTable, type StoredCheckpoint } from '../evidence/checkpoint-table.ts';
import { TileTable } from '../evidence/tile-table.ts';
import { type AuditFilter, type Where, whereClause } from '../read/filter.ts';
import { byProjection } from '../read/plans.ts';
import { onReplicas } from '../storage/replica-reads.ts';
import { shownHash } from '../storage/event-hash.ts';
import { RowBinary } from '../storage/row-binary.ts';
import type { Storage } from '../storage/storage.ts';
import { type Entry, entryAt, entryBytes } from '../tlog/entry.ts';
import { erasedBytes, ErasureHistory } from '../tlog/erasure.ts';
import { hashBytes } from '../tlog/hash.ts';
import { tileWidth } from '../tlog/tile.ts';
import { Interrupted, nothingKept } from '../tools/interrupted.ts';
import { type WrittenFile, writeWhole } from '../tools/output-file.ts';
import { createProgress, type ProgressIo } from '../tools/progress.ts';
import { readErasures } from './verify/erasures.ts';
import { erasureLine, eventLine, headLine, type StoredContent } from '../tools/verify/evidence-file.ts';
import { readPolicies } from './verify/policies.ts';
import { historyOf, type PositionedEvent } from '../tools/verify/policies.ts';

/** Tiles whose events are read at once: 2,048 events. */
const evidenceTilesAtOnce = 8;
/** Erased events in one line. */
const erasedOfLineMax = 4_096;
const evidenceSourceBytesMax = 32 * 1024 * 1024;

interface EvidenceExport {
  readonly organization: Organization;
  readonly filter: AuditFilter;
  readonly isFiltered: boolean;
  /** An absolute path; the file appears when complete. */
  readonly file: string;
  /** Records the export in the self-audit, before any output. */
  record(events: number): Promise<void>;
  /** Aborted by a stop signal: the next run writes the file anew. */
  readonly stop: AbortSignal;
}

interface Exporting {
  readonly storage: Storage;
  readonly deps: { readonly io: ProgressIo };
}

/** Writes the tree up to its newest checkpoint (evidence-file.ts). Rejects if there is none. */
export async function exportEvidence(
  context: Exporting,
  options: EvidenceExport,
): Promise<WrittenFile & { readonly rows: number }> {
  const { organization, isFiltered, file, record } = options;
  const [checkpoint] = await new CheckpointTable(context.storage).newest([organization.id]);
  if (checkpoint === undefined)
    throw new Error(
      'this organization has no checkpoint yet; a running server signs one within half a minute',
    );
  const { head, erasures, history } = await readHead(context.storage, options, checkpoint);
  await record(checkpoint.size);
  let rows = 0;
  let vanished = 0;
  async function* text(): AsyncGenerator<Buffer> {
    yield Buffer.from(headLine(head));
    for (const [n, { list }] of erasures.entries()) yield* erasureLines(n, list);
    yield* eventLines(context, options, checkpoint?.size ?? 0, (entry, isThere) => {
      if (isThere) rows += 1;
      else if (!isFiltered && !history.mayBeRemoved(entry)) vanished += 1;
    });
  }
  const written = await writeWhole(file, Readable.from(text(), { objectMode: false }));
  if (vanished > 0)
    context.deps.io.error(
      `auditlog: ${vanished} events of the tree are missing, and retention has not removed them; "verify" names the first\n`,
    );
  return { ...written, rows };
}

/** The first line of a file, the lines that follow it, and the facts that explain missing events. */
async function readHead(
  storage: Storage,
  { organization: { id, slug }, isFiltered }: EvidenceExport,
  checkpoint: StoredCheckpoint,
) {
  const tiles = new TileTable(storage);
  const of = { organization: id, covered: checkpoint.size };
  const { erasures, placed } = await readErasures(storage, tiles, of);
  const policies = await readPolicies(storage, tiles, of, new ErasureHistory(erasures));
  const spokenFor = erasures.flatMap(({ position, isPending }) => {
    const event = placed.find((one) => one.position === position);
    return event === undefined ? [] : [{ ...lineOf(event), ...(isPending && { pending: true }) }];
  });
  const head = {
    origin: checkpoint.origin,
    organization: { id, slug },
    checkpoint: checkpoint.text,
    filtered: isFiltered,
    policies: policies.map(lineOf),
    ...(spokenFor.length > 0 && { erasures: spokenFor }),
  };
  return { head, erasures, history: historyOf(policies) };
}

const lineOf = ({ position, seq, source, shown }: PositionedEvent) => ({
  n: position,
  seq: String(seq),
  shown: shown.toString('base64'),
  source,
});

function* erasureLines(erasure: number, list: Buffer): Generator<Buffer> {
  const bytes = erasedOfLineMax * erasedBytes;
  for (let at = 0; at < list.length; at += bytes)
    yield Buffer.from(erasureLine(erasure, list.subarray(at, at + bytes)));
}

/**
 * The lines of all events of the tree, some thousand together; `each` gets each one, and whether the event is
 * stored.
 */
async function* eventLines(
  { storage, deps }: Exporting,
  { organization, filter, stop }: EvidenceExport,
  size: number,
  each: (entry: Entry, isThere: boolean) => void,
): AsyncGenerator<Buffer> {
  const tiles = new TileTable(storage);
  const where = whereClause(organization.id, filter);
  const progress = createProgress(deps.io, { items: 'events', total: size });
  for (let position = 0; position < size; ) {
    if (stop.aborted) throw new Interrupted(nothingKept);
    const bundles = await tiles.entries(organization.id, position / tileWidth, evidenceTilesAtOnce);
    const entries = bundles.subarray(0, (size - position) * entryBytes);
    const count = entries.length / entryBytes;
    if (count === 0)
      throw new Error(
        `the tree has ${position} events, but its checkpoint ${size}; run "auditlog verify --org" and "auditlog doctor"`,
      );
    const events = await readContents({ storage, where }, entries);
    const lines: Buffer[] = [];
    for (let index = 0; index < count; index++) {
      const entry = entryAt(entries, index);
      const event = events.get(entry.seq);
      each(entry, event !== undefined);
      const bytes = entries.subarray(index * entryBytes, (index + 1) * entryBytes);
      lines.push(...eventLine(position + index, bytes, event));
    }
    yield Buffer.concat(lines);
    position += count;
    progress.at(position, position);
  }
  progress.end();
}

interface Matching {
  readonly storage: Storage;
  readonly where: Where;
}

/** Matching events of these entries by order number; split in halves if too large for memory. */
async function readContents(matching: Matching, entries: Buffer): Promise<Map<bigint, StoredContent>> {
  const count = entries.length / entryBytes;
  const { storage, where } = matching;
  const stretch = { from: entryAt(entries, 0).seq, to: entryAt(entries, count - 1).seq };
  const bytesMax = evidenceSourceBytesMax;
  const query = `SELECT seq, ${shownHash} AS shown, source FROM events WHERE ${where.sql} AND seq >= {from:UInt64} AND seq <= {to:UInt64}`;
  const answer = await storage.bytes(
    `${await onReplicas(storage, query, 'organization')} FORMAT RowBinary`,
    { ...where.parameters, ...stretch },
    { settings: byProjection, headroom: 0, tailroom: 0, bytesMax },
  );
  if ('release' in answer) {
    const rows = Buffer.from(Buffer.from(answer.buffer.buffer, answer.start, answer.end - answer.start));
    answer.release();
    return new Map(rowsIn(rows));
  }
  answer.destroy();
  if (count === 1) throw new Error(`an event has more than ${bytesMax} bytes`);
  const middle = Math.floor(count / 2) * entryBytes;
  const first = await readContents(matching, entries.subarray(0, middle));
  return new Map([...first, ...(await readContents(matching, entries.subarray(middle)))]);
}

function* rowsIn(bytes: Buffer): Generator<[bigint, StoredContent]> {
  const rows = new RowBinary(bytes);
  while (!rows.isAtEnd) yield [rows.uint64(), { shown: rows.fixed(hashBytes), source: rows.string() }];
}
