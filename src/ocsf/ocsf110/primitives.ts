import type { TypeFacts } from './facts.ts';

const regexes = new Map<string, RegExp>();

/** Beyond this an integer does not fit into signed 64 bits. */
const longMax = 2 ** 63;

export function checkPrimitive(
  types: Readonly<Record<string, TypeFacts>>,
  type: string,
  value: unknown,
): string | undefined {
  const own = types[type];
  const base = own?.type ?? type;
  switch (base) {
    case 'json_t':
      return undefined;
    case 'boolean_t':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'float_t':
      return typeof value === 'number' ? undefined : 'must be a number';
    case 'integer_t':
    case 'long_t':
      return checkInteger(own, value);
    default:
      return checkString({ ...types[base], ...own }, type, value);
  }
}

function checkInteger(own: TypeFacts | undefined, value: unknown): string | undefined {
  if (typeof value !== 'number' || !Number.isInteger(value)) return 'must be an integer';
  if (value >= longMax || value < -longMax) return 'must fit into 64 bits';
  const [from, to] = own?.range ?? [-longMax, longMax];
  return value >= from && value <= to ? undefined : `must be from ${from} to ${to}`;
}

function checkString({ max_len: most, regex }: TypeFacts, type: string, value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be a string';
  if (most !== undefined && value.length > most && Array.from(value).length > most)
    return `must have at most ${most} characters`;
  if (regex === undefined) return undefined;
  let known = regexes.get(regex);
  if (known === undefined) regexes.set(regex, (known = new RegExp(regex)));
  return known.test(value) ? undefined : `must have the form of ${type}`;
}
