import { brief, hold } from '../finding.ts';
import { secretMark } from '../events.ts';
import type { World } from '../world.ts';

const warnLevel = 40;
const linesShownMax = 8;

const partDamaged = 'A part of a table is damaged, and reads that need it fail; run `auditlog doctor`';

/** Lines of the operational log above `warn`, by the fault that causes them; whole texts or patterns. */
export const linesOf = {
  /** Requests while the service or its engine is down. */
  requests: ['A request failed', 'A self-audit event could not be recorded; will retry'],
  engineKilled: ['The embedded engine ended unexpectedly; restarting it'],
  fullDisk: [
    'The disk is almost full: the write-ahead log rejects events of producers; reads, sign-in and exports continue',
    'The disk is full: the write-ahead log rejects events until there is room; reads continue',
    'The disk is full: engine.json was not written, so commands do not find the engine',
    'The disk is full: server.json could not be written',
    'Writing the write-ahead log failed',
    'The engine failed to write its files; restarting it',
    'The embedded engine ended unexpectedly; restarting it',
    'The embedded engine did not restart; will retry',
    // A read may come before that start.
    partDamaged,
  ],
  controlData: [
    /^row \d+ of the journal of control data is missing: until/,
    // A read may be first.
    partDamaged,
  ],
  logSegments: [
    'A segment of the log is missing: events not yet inserted are lost',
    'The newest segments of the log are missing, up to this one: events not yet inserted are lost',
  ],
  events: ['Stored events are missing from the table; run `auditlog doctor`', partDamaged],
  evidence: ['Evidence contradicts a checkpoint; nothing more is signed for the organization'],
} as const satisfies Readonly<Record<string, readonly (string | RegExp)[]>>;

/** Kinds of damage in `/readyz`. */
export type DamageKind = 'log_segment' | 'missing_events' | 'unreadable' | 'control_data' | 'evidence';

/** The message of a line above a level, else undefined. A line that is not of the log counts as an error. */
function loudWords(line: string, aboveLevel: number): string | undefined {
  let parsed: { readonly level?: unknown; readonly msg?: unknown };
  try {
    parsed = JSON.parse(line) as typeof parsed;
  } catch {
    return line;
  }
  const { level, msg } = parsed;
  const isLoud = typeof level === 'number' ? level > aboveLevel : level === 'error' || level === 'fatal';
  return isLoud ? String(msg) : undefined;
}

interface Loud {
  readonly line: string;
  readonly words: string;
}

const loudOf = (lines: readonly string[], aboveLevel: number): Loud[] =>
  lines.flatMap((line) => {
    const words = loudWords(line, aboveLevel);
    return words === undefined ? [] : [{ line, words }];
  });

const shown = (loud: readonly Loud[]): string => loud.map(({ line }) => brief(line)).join('\n');

/** Warnings and errors since the last check, newest last: often they explain a failed run. */
export function loudLines(world: World): string {
  return shown(loudOf(world.service.newLines(), warnLevel - 1).slice(-linesShownMax));
}

/**
 * Checks the operational log since the last check: no secret, nothing above `warn` that no fault explains, and
 * every line that a fault must cause.
 */
export function checkLog(world: World): void {
  const lines = world.service.newLines();
  hold(
    !lines.some((line) => line.includes(secretMark)),
    'no secret is shown',
    () => 'in the operational log',
  );
  const loud = loudOf(lines, warnLevel);
  const unexpected = loud.filter(
    ({ words }) =>
      !world.expectedWords.some((one) => (typeof one === 'string' ? one === words : one.test(words))),
  );
  hold(unexpected.length === 0, 'the log is what the faults explain', () =>
    shown(unexpected.slice(0, linesShownMax)),
  );
  const absent = world.takeDue().filter((words) => !loud.some((one) => one.words === words));
  hold(absent.length === 0, 'the log reports what happened', () => `nothing of this: ${absent.join('; ')}`);
}
