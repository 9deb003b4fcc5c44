import { leaf, type Node, parseTree, printTree } from './tree.ts';

/**
 * The smallest event found within `msMax` that still fails, by leaving out one part after another.
 */
export async function shrink(
  event: Buffer,
  fails: (event: Buffer) => Promise<boolean>,
  msMax: number,
): Promise<Buffer> {
  let smallest = event;
  const end = performance.now() + msMax;
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (const candidate of smallerOnes(smallest)) {
      if (performance.now() > end) return smallest;
      if (!(await fails(candidate))) continue;
      smallest = candidate;
      isSmaller = true;
      break;
    }
  }
  return smallest;
}

/** The event without one of its parts, the largest parts first. */
function smallerOnes(event: Buffer): Buffer[] {
  let tree: Node;
  try {
    tree = parseTree(event.toString());
  } catch (error) {
    if (error instanceof SyntaxError) return withoutSlices(event);
    throw error;
  }
  const texts = new Set(smallerTrees(tree).map((node) => printTree(node)));
  return [...texts]
    .map((text) => Buffer.from(text))
    .filter(({ length }) => length < event.length)
    .sort((one, two) => one.length - two.length);
}

function smallerTrees(node: Node): Node[] {
  if (node.kind === 'leaf')
    return typeof node.value === 'string' && node.token.length > 3 ? [leaf('"x"')] : [];
  const parts: readonly { readonly value: Node }[] =
    node.kind === 'list' ? node.items.map((value) => ({ value })) : node.members;
  return parts.flatMap((part, at) => {
    const replacements = smallerTrees(part.value);
    const without = replaced(node, at, []);
    return [without, ...replacements.map((value) => replaced(node, at, [value]))];
  });
}

/** The container with its part number `at` replaced by one of these values, or by none. */
function replaced(node: Exclude<Node, { kind: 'leaf' }>, at: number, values: readonly Node[]): Node {
  if (node.kind === 'list') return { kind: 'list', items: node.items.toSpliced(at, 1, ...values) };
  const [member] = node.members.slice(at, at + 1);
  const members = member === undefined ? [] : values.map((value) => ({ ...member, value }));
  return { kind: 'object', members: node.members.toSpliced(at, 1, ...members) };
}

function withoutSlices(event: Buffer): Buffer[] {
  const sizes = [2, 4, 8, 16].map((parts) => Math.floor(event.length / parts)).filter((size) => size > 0);
  return sizes.flatMap((size) =>
    Array.from({ length: Math.ceil(event.length / size) }, (_, at) =>
      Buffer.concat([event.subarray(0, at * size), event.subarray((at + 1) * size)]),
    ),
  );
}
