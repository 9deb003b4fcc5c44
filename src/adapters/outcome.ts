import type { JSONValue } from '@jmespath-community/jmespath';
import type { OutcomeDefinition } from './definition.ts';
import { compileExpression, type Evaluate } from './expressions.ts';
import { plain } from './parse.ts';

/** Characters of an outcome shown in `status_detail`. */
const outcomeCharactersMax = 100;

/** Success or failure, and the source event's result: a code, or text for `status_detail`. */
export interface Outcome {
  readonly kind: 'success' | 'failure' | 'unknown';
  readonly result: { readonly code?: number; readonly detail?: string };
}

const failureMin = 400;
const success: Outcome = { kind: 'success', result: { code: 200 } };
export const failure: Outcome = { kind: 'failure', result: { code: failureMin } };

/**
 * Reads the outcome of records. A mapping lists success values and failure values; a number from 100 to 599
 * is an HTTP status. Any other value is unknown: a mapping cannot know all values, and a failure must not
 * pass for a success.
 */
export class OutcomeReader {
  readonly #of: readonly Evaluate[];
  readonly #listed: ReadonlyMap<string, Outcome>;
  readonly #absent: Outcome;

  constructor(definition: OutcomeDefinition) {
    this.#of = definition.of.map((text, index) => compileExpression(`/outcome/of/${index}`, text));
    this.#listed = new Map([
      ...definition.success.map((value) => [value.toLowerCase(), success] as const),
      ...(definition.failure ?? []).map((value) => [value.toLowerCase(), failure] as const),
    ]);
    this.#absent =
      definition.absent === 'success' ? { kind: 'success', result: {} } : unknown('the record does not say');
  }

  /** From the first expression with a known value; otherwise unknown, with the first value. */
  of(record: JSONValue): Outcome {
    let first: string | undefined;
    for (const evaluate of this.#of) {
      const value = scalar(plain(evaluate(record)));
      if (value === undefined) continue;
      const known = this.#listed.get(value.toLowerCase()) ?? ofStatus(value);
      if (known !== undefined) return known;
      first ??= value;
    }
    return first === undefined ? this.#absent : unknown(first);
  }
}

function scalar(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

function ofStatus(value: string): Outcome | undefined {
  if (!/^[1-5]\d\d$/.test(value)) return undefined;
  const code = Number(value);
  return { kind: code < failureMin ? 'success' : 'failure', result: { code } };
}

function unknown(what: string): Outcome {
  const detail = `outcome unknown: ${what.slice(0, outcomeCharactersMax)}`;
  return { kind: 'unknown', result: { detail } };
}
