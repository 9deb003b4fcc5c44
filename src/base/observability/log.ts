import { pino } from 'pino';
import { messageOf } from '../errors/system-error.ts';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

export const logLevels: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/** The part of a logger that we use: facts, then message. Never pass a secret or event content. */
export interface Logger {
  debug(facts: object, words: string): void;
  info(facts: object, words: string): void;
  warn(facts: object, words: string): void;
  error(facts: object, words: string): void;
}

/** Operational log: JSON lines on standard error. Standard output has the access log. */
export function createLogger(level: LogLevel): Logger {
  const destination = pino.destination({ fd: 2, sync: true });
  // A closed terminal or a full disk must not stop the service.
  destination.on('error', () => undefined);
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

/** Facts of any thrown value that are safe for the operational log. */
export function errorFacts(error: unknown): { error: string; code?: string } {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  const isCode = typeof code === 'string' || typeof code === 'number';
  return { error: messageOf(error), ...(isCode && { code: String(code) }) };
}
