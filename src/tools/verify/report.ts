import { formatMicros } from '../../base/time/timestamp.ts';
import type { Entry } from '../../tlog/entry.ts';
import type { Difference, EventFindings } from '../../tlog/event-audit.ts';
import type { TreeFindings } from '../../tlog/tree-audit.ts';

interface Finding {
  readonly kind: Difference['kind'] | 'contradicted' | 'forked' | 'shorter' | 'unproven';
  readonly detail: string;
  /** Of the first such event, from 0. */
  readonly position?: number;
  readonly seq?: string;
  readonly time?: string;
}

/** A difference that a recorded decision explains. No signature shows whether the decision was right. */
interface Confirmation {
  /** `older`: a kept checkpoint covers events after the file. */
  readonly kind: 'retention' | 'erasure' | 'older';
  readonly detail: string;
  readonly events: number;
  /** Position of the decision's event in the tree. */
  readonly position?: number;
  /** Identifies the decision, with kind and position. */
  readonly decision: readonly string[];
}

export interface Report {
  readonly origin: string;
  readonly events: number;
  readonly covered: number;
  readonly findings: readonly Finding[];
  readonly confirm: readonly Confirmation[];
  readonly notes: readonly string[];
}

/** Undefined for an impossible date: an altered entry may contain any. */
function timeText(micros: number): string | undefined {
  return Number.isNaN(new Date(micros / 1000).getTime()) ? undefined : formatMicros(micros);
}

function describePosition({ position, seq, time }: Pick<Difference, 'position' | 'seq' | 'time'>) {
  const text = timeText(time);
  return { position, seq: String(seq), ...(text !== undefined && { time: text }) };
}

/** For an event missing before its expiry. */
export const vanished = 'is missing, and retention has not removed it';

const words: Readonly<Record<Difference['kind'], string>> = {
  altered: 'differs from the recorded event',
  missing: vanished,
  added: 'was inserted afterwards',
  moved: 'is at the position of another',
};

export function differencesIn({ first, counts }: EventFindings): Finding[] {
  if (first === undefined) return [];
  const from = first.movedFrom === undefined ? '' : ` (its text belongs to position ${first.movedFrom})`;
  const all = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ');
  return [findingAt(first.kind, first.position, first, `${words[first.kind]}${from}; in all ${all}`)];
}

export function contradictionsIn({
  agreed,
  differing,
  beyond,
  size,
  outOfOrder,
  firstDiffering,
}: TreeFindings): Finding[] {
  const findings: Finding[] = [];
  if (differing !== undefined) {
    const from = agreed?.size ?? 0;
    const time = firstDiffering && timeText(firstDiffering.time);
    const since = time === undefined ? '' : `, recorded from ${time} on`;
    findings.push({
      kind: 'contradicted',
      ...(firstDiffering !== undefined && describePosition({ ...firstDiffering, position: from })),
      detail: `the checkpoint of ${differing.size} events was signed for other events: the first change is at one of the positions ${from} to ${differing.size - 1}${since}`,
    });
  }
  if (beyond !== undefined)
    findings.push({
      kind: 'shorter',
      position: size,
      detail: `there are ${size} events, but a checkpoint was signed for ${beyond.size}: the events from position ${size} are missing`,
    });
  if (outOfOrder !== undefined)
    findings.push({
      kind: 'moved',
      position: outOfOrder,
      detail: `the event at position ${outOfOrder} is out of order`,
    });
  return findings;
}

export function forkFinding(size: number): Finding {
  return {
    kind: 'forked',
    detail: `two checkpoints of ${size} events were signed with different roots: somebody got another history`,
  };
}

export function findingAt(
  kind: Finding['kind'],
  position: number,
  { seq, time }: Pick<Entry, 'seq' | 'time'>,
  what: string,
): Finding {
  const place = describePosition({ seq, time, position });
  return {
    kind,
    ...place,
    detail: `the event at position ${position} (${place.time ?? 'its time is invalid'}, order number ${place.seq}) ${what}`,
  };
}
