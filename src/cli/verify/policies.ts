import { seqTimeMs } from '../../base/events/sequence.ts';
import { formatMicros } from '../../base/time/timestamp.ts';
import type { TileTable } from '../../evidence/tile-table.ts';
import { TreeReader } from '../../evidence/tree-reader.ts';
import { shownHash } from '../../storage/event-hash.ts';
import type { Storage } from '../../storage/storage.ts';
import { type Entry, eventHash } from '../../tlog/entry.ts';
import type { ErasureHistory } from '../../tlog/erasure.ts';
import { type PolicyHistory, policyCodes, policyIn, type PolicyStatement } from '../../tlog/policy.ts';
import type { Report } from './report.ts';

/** An event of a tree that says something of its organization. */
export interface PlacedEvent {
  readonly position: number;
  readonly seq: bigint;
  readonly source: string;
  /** SHA-256 of what is shown of it. */
  readonly shown: Buffer;
}

/** The hash that the entry of such an event has, unless it was altered. */
export function hashOf({ source, shown }: Pick<PlacedEvent, 'source' | 'shown'>): Buffer {
  return eventHash({ source: Buffer.from(source), shown });
}

/** The statement of an event; undefined where it says nothing. */
export function statementOf({
  seq,
  source,
}: Pick<PlacedEvent, 'seq' | 'source'>): PolicyStatement | undefined {
  const policy = policyIn(source);
  return policy && { seq, recordedMicros: seqTimeMs(seq) * 1000, ...policy };
}

/** What the tree has to say of an organization: as far as it was signed for, `covered` entries. */
export interface Statements {
  readonly organization: string;
  readonly codes: readonly number[];
  readonly covered: number;
}

/**
 * The events of an organization's policies that the tree has as they are stored, or as an erasure has left them. Any other
 * could have been put in by whoever removed events, and counts for nothing. Rejects with EngineError.
 */
export async function policiesOf(
  storage: Storage,
  tiles: TileTable,
  of: Omit<Statements, 'codes'>,
  erasures: ErasureHistory,
): Promise<PlacedEvent[]> {
  const found = await eventsInTree(storage, tiles, { ...of, codes: policyCodes });
  return found.filter((one) => erasures.allows(one.entry, hashOf(one)));
}

/**
 * Events with some activities that the tree has entries of, as the service's own: others state nothing, whatever they say. They
 * need not be as they were recorded.
 */
export async function eventsInTree(
  storage: Storage,
  tiles: TileTable,
  { organization, codes, covered }: Statements,
): Promise<(PlacedEvent & { readonly entry: Entry })[]> {
  const rows = await storage.rows<Record<'seq' | 'source' | 'hex', string>>(
    `SELECT seq, source, hex(${shownHash}) AS hex FROM events WHERE org = {org:UUID} AND own AND activity_id IN {codes:Array(Int64)} ORDER BY seq`,
    { org: organization, codes: [...codes] },
  );
  const tree = new TreeReader(tiles);
  const found: (PlacedEvent & { readonly entry: Entry })[] = [];
  for (const { seq: text, source, hex } of rows) {
    const seq = BigInt(text);
    const entry = await tree.entryOf(organization, seq);
    if (entry?.own === true && entry.position < covered)
      found.push({ position: entry.position, seq, source, shown: Buffer.from(hex, 'hex'), entry });
  }
  return found;
}

/** What was removed on the day that its entry names: nobody decided anything later. */
export function notesOf(history: PolicyHistory): Report['notes'] {
  return history.gone.flatMap(({ ending, events }) =>
    ending === 'recorded' ? [`${events} expired events are gone`] : [],
  );
}

/** What was removed, and by which policy: whoever reads a report sees one that nobody has made. */
export function explainedBy(history: PolicyHistory, policies: readonly PlacedEvent[]): Report['confirm'] {
  return history.gone.flatMap(({ ending, events }) => {
    if (ending === 'recorded') return [];
    const position = policies.find(({ seq }) => seq === ending.seq)?.position ?? 0;
    const since = formatMicros(ending.recordedMicros);
    const detail = `${events} events are gone by the retention of ${ending.days} days, which held from ${since} on (the event at place ${position})`;
    const decision = [String(ending.seq), String(ending.recordedMicros), String(ending.days)];
    return [{ kind: 'retention', events, position, detail, decision }];
  });
}
