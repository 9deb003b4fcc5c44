import { brief, hold } from '../finding.ts';
import { secretMark } from '../events.ts';
import type { World } from '../world.ts';

const warnLevel = 40;
const linesShownMax = 8;

const partDamaged = 'A part of a table is damaged, and reads that need it fail; run `auditlog doctor`';

/** What the operational log says above `warn`, by what a fault causes; whole texts, or patterns of these. */
export const linesOf = {
  /** Whoever asks while the service or its engine is away. */
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

/** Kinds of damage that `/readyz` tells. */
export type DamageKind = 'log_segment' | 'missing_events' | 'unreadable' | 'control_data' | 'evidence';

/** The words of a line above a level; undefined for any other. What is no line of the log is as loud as can be. */
function loudWords(line: string, aboveLevel: number): string | undefined {
  let told: { readonly level?: unknown; readonly msg?: unknown };
  try {
    told = JSON.parse(line) as typeof told;
  } catch {
    return line;
  }
  const { level, msg } = told;
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

/** Warnings and errors since the last look, the newest last: why a run failed may stand there alone. */
export function loudLines(world: World): string {
  return shown(loudOf(world.service.newLines(), warnLevel - 1).slice(-linesShownMax));
}

/**
 * The operational log since the last look: no secret in it, nothing above `warn` that no fault of this run explains, and
 * all that a fault must cause.
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
  const untold = world.takeDue().filter((words) => !loud.some((one) => one.words === words));
  hold(untold.length === 0, 'the log tells what happened', () => `nothing of this: ${untold.join('; ')}`);
}
