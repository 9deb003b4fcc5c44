/**
 * JSON as a tree of its tokens: numbers keep their digits, strings their escapes, objects their repeated names.
 * Independent of the service's scanner, so that each can reveal the other's faults.
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

/** A string, a number, true, false or null: its token and value. */
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

/** Throws a SyntaxError for anything but a JSON text. */
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

/** The text of a tree; `gap` returns the white space for each possible place. */
export function printTree(node: Node, gap: () => string = () => ''): string {
  if (node.kind === 'leaf') return node.token;
  const print = (part: Node): string => gap() + printTree(part, gap) + gap();
  if (node.kind === 'list') {
    return node.items.length === 0 ? `[${gap()}]` : `[${node.items.map(print).join(',')}]`;
  }
  const members = node.members.map(({ token, value }) => `${gap()}${token}${gap()}:${print(value)}`);
  return node.members.length === 0 ? `{${gap()}}` : `{${members.join(',')}}`;
}

/** The last member `name` of an object; undefined for other nodes. */
export function memberOf(node: Node | undefined, name: string): Node | undefined {
  if (node?.kind !== 'object') return undefined;
  return node.members.findLast((member) => member.name === name)?.value;
}

/** Equal for two trees with the same meaning, including every digit of numbers. */
export function meaning(node: Node): string {
  if (node.kind === 'leaf') return typeof node.value === 'string' ? JSON.stringify(node.value) : node.token;
  if (node.kind === 'list') return `[${node.items.map(meaning).join(',')}]`;
  const last = new Map(node.members.map(({ name, value }) => [name, value]));
  const names = [...last.keys()].sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${meaning(last.get(name) as Node)}`).join(',')}}`;
}
