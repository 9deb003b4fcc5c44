import { type compile, type JSONValue, TreeInterpreter } from '@jmespath-community/jmespath';
import { functions } from './functions.ts';
import { plain } from './parse.ts';

type Node = ReturnType<typeof compile>;
type Step = (value: JSONValue) => unknown;

/**
 * Compiles an expression, several times faster than walking its tree for each record. The library evaluates
 * rare kinds of nodes; a test compares both.
 */
export function compileNode(node: Node): Step {
  return hasContext(node) ? (value) => TreeInterpreter.search(node, value) : made(node);
}

/** Whether a part needs context beyond its value: then the library evaluates the whole. */
function hasContext(part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return false;
  const { type } = part as { readonly type?: unknown };
  if (type === 'Literal') return false;
  if (['Root', 'LetExpression', 'Variable', 'ExpressionReference'].includes(String(type))) return true;
  return Object.values(part).some(hasContext);
}

const ofTwo: Readonly<Record<string, (left: Step, right: Step) => Step>> = {
  Subexpression: (left, right) => (value) => {
    const found = left(value) as JSONValue;
    return found === null ? null : right(found);
  },
  IndexExpression: inTurn,
  Pipe: inTurn,
  OrExpression: (left, right) => (value) => {
    const found = left(value);
    return isFalse(found) ? right(value) : found;
  },
  AndExpression: (left, right) => (value) => {
    const found = left(value);
    return isFalse(found) ? found : right(value);
  },
};

function inTurn(left: Step, right: Step): Step {
  return (value) => right(left(value) as JSONValue);
}

function made(node: Node): Step {
  const join = ofTwo[node.type];
  if (join !== undefined && 'right' in node) return join(made(node.left), made(node.right));
  if (node.type === 'Field') return compileField(node.name);
  if (node.type === 'Literal') return () => node.value;
  if (node.type === 'Index') return compileIndex(node.value);
  if (node.type === 'Function') return compileCall(node.name, node.children.map(made));
  if (node.type === 'NotExpression') {
    const child = made(node.child);
    return (value) => isFalse(child(value));
  }
  if (node.type === 'MultiSelectHash') {
    const parts = node.children.map(({ name, value }) => [name, made(value)] as const);
    return (value) => Object.fromEntries(parts.map(([name, part]) => [name, part(value)]));
  }
  if (node.type === 'MultiSelectList') {
    const parts = node.children.map(made);
    return (value) => parts.map((part) => part(value));
  }
  if (node.type === 'Comparator' && node.name === 'EQ' && node.right.type === 'Literal') {
    const [left, wanted] = [made(node.left), node.right.value];
    if (!isObject(wanted)) return (value) => left(value) === wanted;
  }
  return (value) => TreeInterpreter.search(node, value);
}

function compileField(name: string): Step {
  return (value) =>
    isObject(value) && !Array.isArray(value)
      ? ((value as Readonly<Record<string, unknown>>)[name] ?? null)
      : null;
}

function compileIndex(index: number): Step {
  return (value) => (Array.isArray(value) ? (value.at(index) ?? null) : null);
}

/** Our functions accept any values; those of JMESPath check them. */
function compileCall(name: string, parts: readonly Step[]): Step {
  const own = functions[name];
  if (own !== undefined) return (value) => own(value, parts);
  return (value) =>
    TreeInterpreter.runtime.callFunction(name, parts.map((part) => plain(part(value))) as JSONValue[]);
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** As JMESPath: null, false, and empty values. */
function isFalse(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') return true;
  if (!isObject(value)) return false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}
