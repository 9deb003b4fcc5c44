import { compile, isRegistered, type JSONValue } from '@jmespath-community/jmespath';
import { messageOf } from '../base/errors/system-error.ts';
import type { Members } from './definition.ts';
import { compileNode } from './evaluate.ts';
import { registerFunctions } from './functions.ts';

/** Names the expression by its path in the mapping; contains no values. */
export class ExpressionError extends Error {}

export type Evaluate = (record: JSONValue) => unknown;

registerFunctions();

/** Throws ExpressionError for invalid JMESPath or an unknown function. */
export function compileExpression(at: string, text: string): Evaluate {
  try {
    const expression = compile(text);
    const unknown = unknownFunction(expression);
    if (unknown !== undefined) throw new Error(`unknown function ${unknown}()`);
    const step = compileNode(expression);
    return (record) => evaluated(at, () => step(record));
  } catch (error) {
    // The library's errors name types and functions, not values.
    throw new ExpressionError(`${at}: ${messageOf(error)}`, { cause: error });
  }
}

/** The library looks functions up only when it calls them. */
function unknownFunction(part: unknown): string | undefined {
  if (typeof part !== 'object' || part === null) return undefined;
  const { type, name } = part as { readonly type?: unknown; readonly name?: unknown };
  if (type === 'Literal') return undefined;
  if (type === 'Function' && typeof name === 'string' && !isRegistered(name)) return name;
  for (const inner of Object.values(part)) {
    const unknown = unknownFunction(inner);
    if (unknown !== undefined) return unknown;
  }
  return undefined;
}

function evaluated(at: string, search: () => unknown): unknown {
  try {
    const value = search();
    return value === null || value === '' ? undefined : value;
  } catch (error) {
    throw new ExpressionError(`${at}: ${messageOf(error)}`, { cause: error });
  }
}

/** The object of the expressions, without undefined members; undefined if it is empty. */
export function compileMembers(at: string, members: Members): Evaluate {
  const parts = Object.entries(members).map(([name, part]) => {
    const path = `${at}/${name}`;
    const evaluate = typeof part === 'string' ? compileExpression(path, part) : compileMembers(path, part);
    return [name, evaluate] as const;
  });
  return (record) => {
    const made: [string, unknown][] = [];
    for (const [name, evaluate] of parts) {
      const value = evaluate(record);
      if (value !== undefined) made.push([name, value]);
    }
    return made.length === 0 ? undefined : Object.fromEntries(made);
  };
}
