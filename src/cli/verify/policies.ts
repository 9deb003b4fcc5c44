import type { TileTable } from '../../evidence/tile-table.ts';
import { TreeReader } from '../../evidence/tree-reader.ts';
import { eventsInOrder } from '../../storage/replica-reads.ts';
import { shownHash } from '../../storage/event-hash.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Entry } from '../../tlog/entry.ts';
import type { ErasureHistory } from '../../tlog/erasure.ts';
import { policyCodes } from '../../tlog/policy.ts';
import { hashOf, type PositionedEvent } from '../../tools/verify/policies.ts';

/** Statements of the tree about an organization, within the `covered` entries. */
export interface Statements {
  readonly organization: string;
  readonly codes: readonly number[];
  readonly covered: number;
}

/**
 * Policy events that are as the tree recorded them, or as an erasure left them. Others could be
 * forged, and are ignored. Rejects with EngineError.
 */
export async function readPolicies(
  storage: Storage,
  tiles: TileTable,
  of: Omit<Statements, 'codes'>,
  erasures: ErasureHistory,
): Promise<PositionedEvent[]> {
  const events = await eventsInTree(storage, tiles, { ...of, codes: policyCodes });
  return events.filter((one) => erasures.allows(one.entry, hashOf(one)));
}

/**
 * Events of some activities with entries as the service's own: others state nothing. They may differ from the
 * recorded ones.
 */
export async function eventsInTree(
  storage: Storage,
  tiles: TileTable,
  { organization, codes, covered }: Statements,
): Promise<(PositionedEvent & { readonly entry: Entry })[]> {
  const query = await eventsInOrder(storage, {
    columns: `seq, source, hex(${shownHash}) AS hex`,
    where: 'org = {org:UUID} AND own AND activity_id IN {codes:Array(Int64)}',
  });
  const rows = await storage.rows<Record<'seq' | 'source' | 'hex', string>>(query, {
    org: organization,
    codes: [...codes],
  });
  const tree = new TreeReader(tiles);
  const events: (PositionedEvent & { readonly entry: Entry })[] = [];
  for (const { seq: text, source, hex } of rows) {
    const seq = BigInt(text);
    const entry = await tree.entryOf(organization, seq);
    if (entry?.own === true && entry.position < covered)
      events.push({ position: entry.position, seq, source, shown: Buffer.from(hex, 'hex'), entry });
  }
  return events;
}
