import { readControlState } from '../../control/directory.ts';
import type { TileTable } from '../../evidence/tile-table.ts';
import type { Storage } from '../../storage/storage.ts';
import { encodeErased, type Erasure, ErasureHistory, erasureCode, erasureIn } from '../../tlog/erasure.ts';
import { believed, disbelieved } from '../../tools/verify/erasures.ts';
import { hashOf, type PlacedEvent } from '../../tools/verify/policies.ts';
import type { Report } from '../../tools/verify/report.ts';
import { eventsInTree, type Statements } from './policies.ts';

/** Erased events that `verify` reads at once. */
const verifyErasedAtOnce = 20_000;

/** Lists of erased events that the tree speaks for, the events that say so, and what is wrong with others. */
export interface FoundErasures {
  readonly erasures: readonly Erasure[];
  readonly placed: readonly PlacedEvent[];
  readonly findings: Report['findings'];
}

/**
 * What was erased from an organization, as far as the tree says so in an event that was signed for. A list that is not the
 * one of its event counts for nothing. An event that speaks of a list may be changed itself, by another list, which has to
 * be believed before. Rejects with EngineError.
 */
export async function erasuresOf(
  storage: Storage,
  tiles: TileTable,
  of: Omit<Statements, 'codes'>,
): Promise<FoundErasures> {
  let waiting = await eventsInTree(storage, tiles, { ...of, codes: [erasureCode] });
  const state = await readControlState(storage);
  const placed: PlacedEvent[] = [];
  const erasures: Erasure[] = [];
  const findings: Report['findings'][number][] = [];
  for (let isMore = true; isMore; ) {
    const history = new ErasureHistory(erasures);
    const good = waiting.filter((one) => history.allows(one.entry, hashOf(one)));
    waiting = waiting.filter((event) => !good.includes(event));
    for (const event of good) {
      const id = erasureIn(event.source)?.id;
      if (id === undefined) continue;
      const list = await listOf(storage, of.organization, id);
      const isPending = state.erasure(id)?.finishedMicros === undefined;
      const erasure = believed(event, list, isPending);
      placed.push(event);
      if (erasure === undefined) findings.push(disbelieved(event));
      else erasures.push(erasure);
    }
    isMore = good.length > 0;
  }
  return { erasures, placed, findings };
}

async function listOf(storage: Storage, org: string, id: string): Promise<Buffer> {
  const list: Buffer[] = [];
  for (let after = 0n; ; ) {
    const rows = await storage.readRows<Record<'place' | 'before' | 'after', string>>(
      `SELECT toString(seq) AS place, before, after FROM erased_events FINAL
       WHERE org = {org:UUID} AND erasure = {id:UUID} AND seq > {from:UInt64} ORDER BY seq LIMIT {limit:UInt32}`,
      { org, id, from: after, limit: verifyErasedAtOnce },
    );
    for (const { place, before, after: now } of rows)
      list.push(encodeErased(BigInt(place), fromHex(before), fromHex(now)));
    if (rows.length < verifyErasedAtOnce) return Buffer.concat(list);
    after = BigInt(rows.at(-1)?.place ?? 0);
  }
}

/** Whatever somebody has written there: a hash has 32 bytes. */
const fromHex = (text: string): Buffer => Buffer.concat([Buffer.from(text, 'hex')], 32);
