import { formatMicros } from '../../base/time/timestamp.ts';
import type { Entry } from '../../tlog/entry.ts';
import type { Difference, EventFindings } from '../../tlog/event-audit.ts';
import type { TreeFindings } from '../../tlog/tree-audit.ts';

/** Something that is not as it was signed for. */
interface Finding {
  readonly kind: Difference['kind'] | 'contradicted' | 'forked' | 'shorter' | 'unproven';
  readonly detail: string;
  /** Where the first event of the kind stands, from 0, its order number and its time. */
  readonly position?: number;
  readonly seq?: string;
  readonly time?: string;
}

/**
 * What is not as it was recorded, and why that may be right: somebody decided so, as an event in the tree says. Whether that was
 * to be decided no signature tells.
 */
interface Confirmation {
  /** `older`: a kept checkpoint covers events that came after the file. */
  readonly kind: 'retention' | 'erasure' | 'older';
  readonly detail: string;
  /** That are gone, were changed, or are not in the file. */
  readonly events: number;
  /** Where in the tree the event stands that says so. */
  readonly position?: number;
  /** What makes it this decision and no other, beside kind and place. */
  readonly decision: readonly string[];
}

/** What was verified, and what was found. */
export interface Report {
  /** `service/organization id`. */
  readonly origin: string;
  /** Events that were looked at, and events that the checkpoints cover. */
  readonly events: number;
  readonly covered: number;
  readonly findings: readonly Finding[];
  readonly confirm: readonly Confirmation[];
  readonly notes: readonly string[];
}

/** Undefined for one that no date has: an entry that somebody changed may say any. */
function timeText(micros: number): string | undefined {
  return Number.isNaN(new Date(micros / 1000).getTime()) ? undefined : formatMicros(micros);
}

function placeOf({ position, seq, time }: Pick<Difference, 'position' | 'seq' | 'time'>) {
  const text = timeText(time);
  return { position, seq: String(seq), ...(text !== undefined && { time: text }) };
}

/** Said of an event that is not there before its day of expiry. */
export const vanished = 'is missing, and retention has not removed it';

const words: Readonly<Record<Difference['kind'], string>> = {
  altered: 'is not what was recorded',
  missing: vanished,
  added: 'was put in afterwards',
  moved: 'stands in the place of another',
};

/** The first difference in full, and how many there are of each kind. */
export function differencesIn({ first, counts }: EventFindings): Finding[] {
  if (first === undefined) return [];
  const from = first.movedFrom === undefined ? '' : ` (its text is that of place ${first.movedFrom})`;
  const all = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ');
  return [atPlace(first.kind, first.position, first, `${words[first.kind]}${from}; in all ${all}`)];
}

/** What the roots say of the entries. */
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
      ...(firstDiffering !== undefined && placeOf({ ...firstDiffering, position: from })),
      detail: `the checkpoint of ${differing.size} events was signed for others: the first change is at one of the places ${from} to ${differing.size - 1}${since}`,
    });
  }
  if (beyond !== undefined)
    findings.push({
      kind: 'shorter',
      position: size,
      detail: `there are ${size} events, and a checkpoint was signed for ${beyond.size}: those from place ${size} on are gone`,
    });
  if (outOfOrder !== undefined)
    findings.push({
      kind: 'moved',
      position: outOfOrder,
      detail: `the event at place ${outOfOrder} is not in its order`,
    });
  return findings;
}

export function forkOf(size: number): Finding {
  return {
    kind: 'forked',
    detail: `two checkpoints of ${size} events were signed, with different roots: somebody was shown another history`,
  };
}

export function atPlace(
  kind: Finding['kind'],
  position: number,
  { seq, time }: Pick<Entry, 'seq' | 'time'>,
  what: string,
): Finding {
  const place = placeOf({ seq, time, position });
  return {
    kind,
    ...place,
    detail: `the event at place ${position} (${place.time ?? 'its time is no date'}, order number ${place.seq}) ${what}`,
  };
}
