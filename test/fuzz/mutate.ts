import { leaf, type Member, type Node, parseTree, printTree } from './tree.ts';

/** Values that are unusual somewhere. */
const oddTokens = [
  'null',
  'true',
  '""',
  '0',
  '-0.0',
  '1e3',
  '1.0',
  '1714979289',
  '99999999999999999999',
  '9007199254740993',
  '1e-400',
  '0.1',
  '"\\u0000"',
  '"\\ud800"',
  '"\\ud83d\\ude00"',
  '"\\"\\\\\\/"',
  '"2024-05-06 07:08:09+0200"',
  '"1969-12-31T23:59:59Z"',
  '"{\\"a\\":1}"',
  '"=1+1"',
  '"\\u0130"',
  '[]',
  '{}',
  '[[[]]]',
  '{"":{"":""}}',
  '{"name":"token","value":"x"}',
  '[{"value":1,"name":"o-t-p"},{"key":"Cookie","value":{"a":[]}}]',
  `"${'x'.repeat(300)}"`,
  `${'['.repeat(120)}${']'.repeat(120)}`,
];
const oddNames = [
  '"extra"',
  '"time"',
  '"value"',
  '"ex\\u0074ra"',
  '"otp"',
  '"message"',
  '"name"',
  '""',
  '"\\u006bey"',
];

/** Changes of bytes, some of which keep valid JSON. */
const oddBytes = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  ' ',
  '\\u00',
  '0',
  '-',
  'e',
  '\u0080',
  '\u00ff',
  '\u0000',
  '\n',
];

/** Damages an event's structure or bytes, once or a few times. */
export function mutated(event: Node, draw: () => number): Buffer {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(draw() * from.length)] as T;
  let node = event;
  for (let times = Math.floor(draw() * 4); times >= 0; times--) node = changedTree(node, draw, pick);
  let bytes = Buffer.from(printTree(node));
  if (draw() > 0.6) bytes = changedBytes(bytes, draw, pick);
  return bytes;
}

type Pick = <T>(from: readonly T[]) => T;

/** The tree with one random node changed. */
function changedTree(root: Node, draw: () => number, pick: Pick): Node {
  let left = Math.floor(draw() * countNodes(root));
  const walk = (node: Node): Node => {
    if (left-- === 0) return changedNode(node, draw, pick);
    if (node.kind === 'list') return { kind: 'list', items: node.items.map(walk) };
    if (node.kind === 'leaf') return node;
    return {
      kind: 'object',
      members: node.members.map((member) => ({ ...member, value: walk(member.value) })),
    };
  };
  return walk(root);
}

function countNodes(node: Node): number {
  if (node.kind === 'leaf') return 1;
  const below = node.kind === 'list' ? node.items : node.members.map(({ value }) => value);
  return below.reduce((sum, one) => sum + countNodes(one), 1);
}

function changedNode(node: Node, draw: () => number, pick: Pick): Node {
  const odd = oddTokenTree(pick(oddTokens));
  if (node.kind === 'leaf' || draw() < 0.2) return odd;
  const at = Math.floor(draw() * (node.kind === 'list' ? node.items.length : node.members.length));
  if (node.kind === 'list') return { kind: 'list', items: spliced(node.items, at, odd, draw) };
  const token = pick([...oddNames, ...node.members.map((member) => member.token)]);
  const added: Member = { token, name: JSON.parse(token) as string, value: odd };
  return { kind: 'object', members: spliced(node.members, at, added, draw) };
}

/** One item removed, doubled, replaced or added before. */
function spliced<T>(items: readonly T[], at: number, added: T, draw: () => number): readonly T[] {
  const removed = draw() < 0.5 ? 1 : 0;
  const way = Math.floor(draw() * 3);
  const put = way === 0 ? [] : way === 1 ? [added] : [...items.slice(at, at + 1), added];
  return items.toSpliced(at, removed, ...put);
}

function oddTokenTree(token: string): Node {
  // The platform accepts lone surrogates, so the tree can hold them.
  return /^[[{]/.test(token) ? parseTree(token) : leaf(token);
}

function changedBytes(bytes: Buffer, draw: () => number, pick: Pick): Buffer<ArrayBuffer> {
  const at = Math.floor(draw() * (bytes.length + 1));
  const length = Math.floor(draw() * draw() * 20);
  const [before, cut, after] = [
    bytes.subarray(0, at),
    bytes.subarray(at, at + length),
    bytes.subarray(at + length),
  ];
  switch (Math.floor(draw() * 4)) {
    case 0:
      return Buffer.concat([before, after]);
    case 1:
      return Buffer.concat([before, cut, cut, after]);
    case 2:
      return Buffer.concat([before, Buffer.from(pick(oddBytes), 'latin1'), cut, after]);
    default:
      return draw() < 0.1
        ? Buffer.from(before)
        : Buffer.concat([before, Buffer.from(pick(oddBytes), 'latin1'), after]);
  }
}
