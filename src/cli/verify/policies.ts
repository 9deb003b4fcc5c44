import type { TileTable } from '../../evidence/tile-table.ts';
import { TreeReader } from '../../evidence/tree-reader.ts';
import { shownHash } from '../../storage/event-hash.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Entry } from '../../tlog/entry.ts';
import type { ErasureHistory } from '../../tlog/erasure.ts';
import { policyCodes } from '../../tlog/policy.ts';
import { hashOf, type PlacedEvent } from '../../tools/verify/policies.ts';

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
