/**
 * JSON as a tree of its own tokens: numbers keep their digits, strings their escapes, objects their doubled names.
 * Written apart from the service's scanner, so that each can show the other's faults.
 */
export type Node = ObjectNode | ListNode | LeafNode;

export interface ObjectNode {
  readonly kind: 'object';
  readonly members: readonly Member[];
}

export interface ListNode {
  readonly kind: 'list';
  readonly items: readonly Node[];
}

/** A string, a number, true, false or null: its token, and what it means. */
export interface LeafNode {
  readonly kind: 'leaf';
  readonly token: string;
  readonly value: string | number | boolean | null;
}

export interface Member {
  /** The name's token, and the name. */
  readonly token: string;
  readonly name: string;
  readonly value: Node;
}

const tokenPattern = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;

/** The tree of a JSON text. Throws a SyntaxError for any other text. */
export function parseTree(text: string): Node {
  JSON.parse(text);
  const tokens = text.match(tokenPattern) ?? [];
  let at = 0;
  const next = (): string => tokens[at++] ?? '';
  const listOf = <T>(end: string, read: () => T): T[] => {
    const all: T[] = [];
    if (tokens[at] === end) at += 1;
    else
      do all.push(read());
      while (next() === ',');
    return all;
  };
  const readMember = (): Member => {
    const token = next();
    at += 1; // The colon.
    return { token, name: JSON.parse(token) as string, value: readNode() };
  };
  const readNode = (): Node => {
    const token = next();
    if (token === '{') return { kind: 'object', members: listOf('}', readMember) };
    if (token === '[') return { kind: 'list', items: listOf(']', readNode) };
    return leaf(token);
  };
  return readNode();
}

export function leaf(token: string): LeafNode {
  return { kind: 'leaf', token, value: JSON.parse(token) as LeafNode['value'] };
}

/** The text of a tree; `gap` is asked for the whitespace at each place where some may be. */
export function printTree(node: Node, gap: () => string = () => ''): string {
  if (node.kind === 'leaf') return node.token;
  const print = (part: Node): string => gap() + printTree(part, gap) + gap();
  if (node.kind === 'list') {
    return node.items.length === 0 ? `[${gap()}]` : `[${node.items.map(print).join(',')}]`;
  }
  const members = node.members.map(({ token, value }) => `${gap()}${token}${gap()}:${print(value)}`);
  return node.members.length === 0 ? `{${gap()}}` : `{${members.join(',')}}`;
}

/** What `name` stands for in a node: of several the last, undefined when there is none or the node is no object. */
export function memberOf(node: Node | undefined, name: string): Node | undefined {
  if (node?.kind !== 'object') return undefined;
  return node.members.findLast((member) => member.name === name)?.value;
}

/** A text that two trees share when they mean the same to a reader of JSON, every digit of a number included. */
export function meaning(node: Node): string {
  if (node.kind === 'leaf') return typeof node.value === 'string' ? JSON.stringify(node.value) : node.token;
  if (node.kind === 'list') return `[${node.items.map(meaning).join(',')}]`;
  const last = new Map(node.members.map(({ name, value }) => [name, value]));
  const names = [...last.keys()].sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${meaning(last.get(name) as Node)}`).join(',')}}`;
}
