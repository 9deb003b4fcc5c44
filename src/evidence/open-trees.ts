import { messageOf } from '../base/errors/system-error.ts';
import type { CheckpointTable, StoredCheckpoint } from './checkpoint-table.ts';
import type { StoredTile, TileTable } from './tile-table.ts';
import { Tree } from './tree.ts';
import { TreeReader } from './tree-reader.ts';

/** Each takes some 30 KB. */
const openTreesMax = 1_000;

export interface OpenTree {
  readonly organization: string;
  readonly tree: Tree;
  signed: Pick<StoredCheckpoint, 'size' | 'root'> | undefined;
}

/** The tree, or what it is built from, was altered. */
export interface Contradiction {
  readonly organization: string;
  readonly words: string;
}

/** Undefined unless the tree has the size of its newest checkpoint and another root. */
export function findContradiction({ organization, tree, signed }: OpenTree): Contradiction | undefined {
  if (signed?.size !== tree.size || Buffer.compare(signed.root, tree.root()) === 0) return undefined;
  return { organization, words: otherEvents(signed.size) };
}

const otherEvents = (size: number): string =>
  `the first ${size} events of the organization differ from those of a signed checkpoint`;

/** A tree is compared with its newest checkpoint when opened: a log never signs a contradiction. */
export class OpenTrees {
  readonly #tiles: TileTable;
  readonly #checkpoints: CheckpointTable;
  readonly #reader: TreeReader;
  readonly #open = new Map<string, OpenTree>();

  constructor(tiles: TileTable, checkpoints: CheckpointTable) {
    this.#tiles = tiles;
    this.#checkpoints = checkpoints;
    this.#reader = new TreeReader(tiles);
  }

  /** Another process may have extended them, or they have what was not stored. */
  forget(organizations?: readonly string[]): void {
    if (organizations === undefined) this.#open.clear();
    else for (const one of organizations) this.#open.delete(one);
  }

  /** Trees that contradict a checkpoint go to `refused` instead. Rejects with EngineError. */
  async open(
    organizations: readonly string[],
    refused: (contradiction: Contradiction) => void,
  ): Promise<Map<string, OpenTree>> {
    const absent = organizations.filter((one) => this.#open.get(one) === undefined);
    const loaded = absent.length === 0 ? [] : await this.#load(absent, refused);
    for (const one of loaded) this.#open.set(one.organization, one);
    const trees = organizations.flatMap((one) => this.#open.get(one) ?? []);
    for (const one of this.#open.keys()) {
      if (this.#open.size <= Math.max(openTreesMax, organizations.length)) break;
      if (!organizations.includes(one)) this.#open.delete(one);
    }
    return new Map(trees.map((one) => [one.organization, one]));
  }

  async #load(
    organizations: readonly string[],
    refused: (contradiction: Contradiction) => void,
  ): Promise<OpenTree[]> {
    const last = await this.#tiles.last(organizations);
    const newest = await this.#checkpoints.newest(organizations);
    const loaded: OpenTree[] = [];
    for (const organization of organizations) {
      const own = last.filter((tile) => tile.organization === organization);
      const signed = newest.find((checkpoint) => checkpoint.organization === organization);
      const opened = openTree(organization, own);
      if ('words' in opened) refused(opened);
      else if (await this.#contradicts(opened, signed))
        refused({ organization, words: otherEvents(signed?.size ?? 0) });
      else loaded.push({ organization, tree: opened, signed });
    }
    return loaded;
  }

  /** A tree shorter than its checkpoint is compared when it reaches that size. */
  async #contradicts({ organization, size }: Tree, signed: OpenTree['signed']): Promise<boolean> {
    if (signed === undefined || signed.size > size) return false;
    const root = await this.#reader.root(organization, signed.size);
    return root === undefined || Buffer.compare(root, signed.root) !== 0;
  }
}

function openTree(organization: string, last: readonly StoredTile[]): Tree | Contradiction {
  try {
    return new Tree(organization, last);
  } catch (error) {
    return { organization, words: `the tree is damaged: ${messageOf(error)}` };
  }
}
