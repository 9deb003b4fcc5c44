import { ErasureDigest, type ErasureHistory, erasureIn } from '../../tlog/erasure.ts';
import { sha256 } from '../../tlog/hash.ts';
import type { PositionedEvent } from './policies.ts';
import type { Report } from './report.ts';

export function believed({ position, seq, source }: PositionedEvent, list: Buffer, isPending: boolean) {
  const statement = erasureIn(source);
  if (statement === undefined) return undefined;
  const digest = new ErasureDigest();
  digest.add(list);
  if (digest.hex() !== statement.digest) return undefined;
  return { pseudonym: statement.pseudonym, seq, position, list, isPending };
}

export function disbelieved({ position }: PositionedEvent): Report['findings'][number] {
  const detail = `the list of erased events differs from the event at position ${position}, and is ignored`;
  return { kind: 'altered', position, detail };
}

export function explainedByErasures(history: ErasureHistory): Report['confirm'] {
  return history.erased.map(({ erasure: { pseudonym, seq, position, list }, events }) => {
    const detail = `${events} events were changed to erase a person, now called ${pseudonym} (event at position ${position})`;
    const decision = [String(seq), pseudonym, Buffer.from(sha256(list)).toString('hex')];
    return { kind: 'erasure', events, position, detail, decision };
  });
}
