import { registerFunction, TYPE_ANY } from '@jmespath-community/jmespath';

/** What expressions of mappings may call beside the functions of JMESPath. */
export function registerFunctions(): void {
  const one = [{ types: [TYPE_ANY] }];
  const several = [{ types: [TYPE_ANY], variadic: true }];
  const options = { override: true };
  registerFunction('micros', ([value]) => micros(value) as number, one, options);
  registerFunction('level', ([value]) => level(value) as string, one, options);
  registerFunction('text', (values) => firstText(values) ?? null, several, options);
  registerFunction('email', (values) => values.find(isAddress) ?? null, several, options);
  registerFunction('uuid', ([value]) => (isUuid(value) ? value : null), one, options);
}

const secondsBelow = 1e11;
const millisBelow = 1e14;
const microsBelow = 1e17;

/**
 * Unix microseconds of a number of seconds, milliseconds, microseconds or nanoseconds, told apart by size (seconds
 * would be beyond the year 5000, and so on). Digits in quotes count as a number, other text is left as it is: RFC 3339.
 */
function micros(value: unknown): unknown {
  // A double has not digits enough for nanoseconds.
  if (typeof value === 'string' && /^\d{18,20}$/.test(value)) return Number(value.slice(0, -3));
  const number = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number') return value;
  if (number < secondsBelow) return Math.round(number * 1e6);
  if (number < millisBelow) return Math.round(number * 1000);
  return number < microsBelow ? Math.round(number) : Math.floor(number / 1000);
}

const levelNames: Readonly<Record<string, string>> = {
  INFORMATION: 'INFO',
  INFORMATIONAL: 'INFO',
  NOTICE: 'INFO',
  WARNING: 'WARN',
  ERR: 'ERROR',
  CRIT: 'ERROR',
  CRITICAL: 'ERROR',
  FATAL: 'ERROR',
  PANIC: 'ERROR',
  DPANIC: 'ERROR',
  ALERT: 'ERROR',
  EMERG: 'ERROR',
  EMERGENCY: 'ERROR',
};

/** The level by its name in any case, or by the number that pino gives it. */
function level(value: unknown): unknown {
  if (typeof value === 'number') return levelOfNumber(value);
  if (typeof value !== 'string') return value;
  const name = value.toUpperCase();
  return levelNames[name] ?? name;
}

function levelOfNumber(value: number): string {
  if (value >= 50) return 'ERROR';
  if (value >= 40) return 'WARN';
  if (value >= 30) return 'INFO';
  return value >= 20 ? 'DEBUG' : 'TRACE';
}

/** The first that is text or a number, as text; empty text only where nothing else is. */
function firstText(values: readonly unknown[]): string | undefined {
  for (const value of values) {
    if (typeof value === 'number') return String(value);
    if (typeof value === 'string' && value !== '') return value;
  }
  return values.includes('') ? '' : undefined;
}

/** The e-mail address among names and ids; which of them it is depends on how people sign in. */
function isAddress(value: unknown): value is string {
  return typeof value === 'string' && /^[^\s@]+@[^\s@]+$/.test(value);
}

function isUuid(value: unknown): value is string {
  return typeof value === 'string' && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value);
}
