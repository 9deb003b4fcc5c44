import { brief, hold } from '../finding.ts';
import { secretMark } from '../events.ts';
import type { World } from '../world.ts';

const warnLevel = 40;
const linesShownMax = 8;

function isLoud(line: string): boolean {
  if (!line.startsWith('{')) return true;
  const { level } = JSON.parse(line) as { level: number | string };
  return typeof level === 'number' ? level > warnLevel : ['error', 'fatal'].includes(level);
}

/** The operational log: no secret in it, and nothing above `warn` that no fault of this run explains. */
export function checkLog(world: World): void {
  const lines = world.service.newLines();
  hold(
    !lines.some((line) => line.includes(secretMark)),
    'no secret is shown',
    () => 'in the operational log',
  );
  const loud = lines
    .filter(isLoud)
    .filter((line) => !world.expectedLines.some((pattern) => pattern.test(line)));
  hold(loud.length === 0, 'the log is what the faults explain', () =>
    loud
      .slice(0, linesShownMax)
      .map((line) => brief(line))
      .join('\n'),
  );
}
