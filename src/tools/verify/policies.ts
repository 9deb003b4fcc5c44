import { seqTimeMs } from '../../base/events/sequence.ts';
import { systemClock } from '../../base/time/clock.ts';
import { formatMicros } from '../../base/time/timestamp.ts';
import { eventHash } from '../../tlog/entry.ts';
import { PolicyHistory, policyIn, type PolicyStatement } from '../../tlog/policy.ts';
import type { Report } from './report.ts';

export interface PositionedEvent {
  readonly position: number;
  readonly seq: bigint;
  readonly source: string;
  /** SHA-256 of its shown form. */
  readonly shown: Buffer;
}

export function hashOf({ source, shown }: Pick<PositionedEvent, 'source' | 'shown'>): Buffer {
  return eventHash({ source: Buffer.from(source), shown });
}

/** The event's statement; undefined if it has none. */
function statementOf({ seq, source }: Pick<PositionedEvent, 'seq' | 'source'>): PolicyStatement | undefined {
  const policy = policyIn(source);
  return policy && { seq, recordedMicros: seqTimeMs(seq) * 1000, ...policy };
}

export function historyOf(policies: readonly PositionedEvent[]): PolicyHistory {
  return new PolicyHistory(
    policies.flatMap((one) => statementOf(one) ?? []),
    systemClock(),
  );
}

export function notesOf(history: PolicyHistory): Report['notes'] {
  return history.removed.flatMap(({ ending, events }) =>
    ending === 'recorded' ? [`${events} expired events were removed`] : [],
  );
}

export function explainedBy(history: PolicyHistory, policies: readonly PositionedEvent[]): Report['confirm'] {
  return history.removed.flatMap(({ ending, events }) => {
    if (ending === 'recorded') return [];
    const position = policies.find(({ seq }) => seq === ending.seq)?.position ?? 0;
    const since = formatMicros(ending.recordedMicros);
    const detail = `${events} events were removed by the retention of ${ending.days} days, in effect from ${since} (event at position ${position})`;
    const decision = [String(ending.seq), String(ending.recordedMicros), String(ending.days)];
    return [{ kind: 'retention', events, position, detail, decision }];
  });
}
