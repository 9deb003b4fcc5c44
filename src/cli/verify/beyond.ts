import { seqTimeMs } from '../../base/events/sequence.ts';
import { formatMicros } from '../../base/time/timestamp.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Report } from '../../tools/verify/report.ts';

interface Beyond {
  readonly organization: string;
  /** The trees' position in the order when the verification began. */
  readonly watermark: bigint;
  /** Above all possible order numbers (order-end.ts). */
  readonly end: bigint;
  readonly position: number;
}

/**
 * Events on pages beyond every tree: those that wait for their checkpoint, and those whose order number no writer can have given
 * out. Rejects with EngineError.
 */
export async function beyondTrees(
  storage: Storage,
  { organization, watermark, end, position }: Beyond,
): Promise<Pick<Report, 'findings' | 'notes'>> {
  const [row] = await storage.rows<Record<'waiting' | 'first' | 'ahead' | 'place' | 'at', string>>(
    `SELECT countIf(seq < {end:UInt64}) AS waiting, min(seq) AS first, countIf(seq >= {end:UInt64}) AS ahead,
       minIf(seq, seq >= {end:UInt64}) AS place, toUnixTimestamp64Micro(argMinIf(time, seq, seq >= {end:UInt64})) AS at
     FROM events WHERE org = {organization:UUID} AND seq >= {watermark:UInt64}`,
    { organization, watermark, end },
  );
  if (row === undefined) return { findings: [], notes: [] };
  const { waiting, first, ahead, place: seq, at } = row;
  const notes =
    waiting === '0'
      ? []
      : [
          `${waiting} events, from order number ${first} on, are stored but in no tree yet; the next checkpoint will cover them`,
        ];
  if (ahead === '0') return { findings: [], notes };
  const [time, moment] = [formatMicros(Number(at)), formatMicros(seqTimeMs(BigInt(seq)) * 1000)];
  const detail = `${ahead} events have order numbers that no writer has reached: the first (${time}, order number ${seq} of ${moment}) was inserted from outside`;
  return { findings: [{ kind: 'added', position, seq, time, detail }], notes };
}
