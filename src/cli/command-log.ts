import { createLogger, type Logger, logLevels, type LogLevel } from '../base/observability/log.ts';
import type { CliIo } from '../tools/context.ts';

/** Facts that may contain text of the engine. */
const withheld: ReadonlySet<string> = new Set(['error', 'stderr']);

function factsText(facts: object): string {
  const shown = Object.entries(facts).flatMap(([name, value]: [string, unknown]) => {
    if (withheld.has(name)) return [];
    if (typeof value === 'string' || typeof value === 'number') return [`${name} ${value}`];
    return Array.isArray(value) && value.length > 0 ? [`${name} ${value.join(' ')}`] : [];
  });
  return shown.length === 0 ? '' : ` (${shown.join(', ')})`;
}

export function commandLog(io: Pick<CliIo, 'error'>, level: LogLevel): Logger {
  const least = logLevels.indexOf(level);
  if (least <= logLevels.indexOf('debug')) return createLogger(level);
  const at =
    (name: LogLevel) =>
    (facts: object, words: string): void => {
      if (logLevels.indexOf(name) >= least) io.error(`auditlog: ${words}${factsText(facts)}\n`);
    };
  return { debug: () => undefined, info: at('info'), warn: at('warn'), error: at('error') };
}
