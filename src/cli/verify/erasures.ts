import { readControlState } from '../../control/directory.ts';
import type { TileTable } from '../../evidence/tile-table.ts';
import type { Storage } from '../../storage/storage.ts';
import { encodeErased, type Erasure, ErasureHistory, erasureCode, erasureIn } from '../../tlog/erasure.ts';
import { believed, disbelieved } from '../../tools/verify/erasures.ts';
import { hashOf, type PositionedEvent } from '../../tools/verify/policies.ts';
import type { Report } from '../../tools/verify/report.ts';
import { eventsInTree, type Statements } from './policies.ts';

const verifyErasedAtOnce = 20_000;

/** Lists of erased events confirmed by the tree, their events, and faults of the others. */
export interface FoundErasures {
  readonly erasures: readonly Erasure[];
  readonly placed: readonly PositionedEvent[];
  readonly findings: Report['findings'];
}

/**
 * An organization's erasures, as signed events of the tree state them. A list that differs from its event is
 * ignored. The event of a list may itself be changed by another list, which must be verified first. Rejects
 * with EngineError.
 */
export async function readErasures(
  storage: Storage,
  tiles: TileTable,
  of: Omit<Statements, 'codes'>,
): Promise<FoundErasures> {
  let waiting = await eventsInTree(storage, tiles, { ...of, codes: [erasureCode] });
  const state = await readControlState(storage);
  const placed: PositionedEvent[] = [];
  const erasures: Erasure[] = [];
  const findings: Report['findings'][number][] = [];
  for (let isMore = true; isMore; ) {
    const history = new ErasureHistory(erasures);
    const good = waiting.filter((one) => history.allows(one.entry, hashOf(one)));
    waiting = waiting.filter((event) => !good.includes(event));
    for (const event of good) {
      const id = erasureIn(event.source)?.id;
      if (id === undefined) continue;
      const list = await readList(storage, of.organization, id);
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

async function readList(storage: Storage, org: string, id: string): Promise<Buffer> {
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

/** The text is arbitrary: a hash has 32 bytes. */
const fromHex = (text: string): Buffer => Buffer.concat([Buffer.from(text, 'hex')], 32);
