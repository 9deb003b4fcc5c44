import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Problem } from '../../base/errors/problem.ts';
import { ifThere } from '../../base/errors/system-error.ts';
import { makeDirectories, namesIn, readIfThere, replaceFile } from '../../base/files/durable-file.ts';
import { type Checkpoint, parseCheckpoint } from '../../tlog/checkpoint.ts';
import { entryBytes, fromBundle } from '../../tlog/entry.ts';
import { leafHashes } from '../../tlog/hash.ts';
import { RightEdge, type TileHashes } from '../../tlog/right-edge.ts';
import { hashesAtLevel, countLevels, tilePath, tileWidth, widthIn } from '../../tlog/tile.ts';
import type { ToolDeps } from '../context.ts';
import { createProgress } from '../progress.ts';
import { organizationPattern } from './copy.ts';
import { type RemoteTree, type RemoteOptions, remoteTree } from './remote-tree.ts';
import { type TrustOptions, readTrust } from './checkpoints.ts';
import { forkFinding, type Report } from './report.ts';

const keepTilesAtOnce = 8;
/** Events between checkpoints of a first run, and so the most that an interrupted run repeats. */
const keepStepEvents = 1_000_000;

type Finding = Report['findings'][number];

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/**
 * A tree kept by an auditor, in the layout of C2SP tlog-tiles:
 *
 *     DIR/<organization id>/checkpoint            newest verified checkpoint
 *                           checkpoints/000…300   verified checkpoints, by number of events
 *                           contradicting/000…400 checkpoints that do not continue the kept ones
 *                           tile/…                hashes and entries below the newest checkpoint
 *
 * A verified checkpoint is written last, so an interrupted run continues from the one before.
 */
class KeptTree {
  readonly #directory: string;
  readonly #origin: string;
  #newest: Checkpoint | undefined;

  private constructor(directory: string, origin: string, newest: Checkpoint | undefined) {
    this.#directory = directory;
    this.#origin = origin;
    this.#newest = newest;
  }

  static async open(directory: string, origin: string): Promise<KeptTree> {
    const organization = origin.slice(origin.lastIndexOf('/') + 1);
    if (!organizationPattern.test(organization))
      throw new Error(`the checkpoint's origin ${origin} does not end in the id of an organization`);
    const place = join(directory, organization);
    const text = await readIfThere(join(place, 'checkpoint'));
    const newest = text === undefined ? undefined : parseCheckpoint(text);
    if (newest !== undefined && newest.origin !== origin)
      throw new Error(
        `${place} has the tree of ${newest.origin}, but the service sent the tree of ${origin}`,
      );
    return new KeptTree(place, origin, newest);
  }

  get size(): number {
    return this.#newest?.size ?? 0;
  }

  /**
   * Verifies that a signed checkpoint continues this tree, and keeps it with its tiles. Returns
   * contradictions; then the checkpoint is kept as evidence beside the unchanged tree.
   */
  async advance(
    next: Checkpoint,
    remote: RemoteTree,
    onEvents: (events: number) => void,
  ): Promise<Finding[]> {
    const findings = await this.#contradictions(next, remote, onEvents);
    if (findings.length > 0) {
      await this.#write(join('contradicting', this.#nameOf(next)), next.text);
      return findings;
    }
    if (this.#newest !== undefined && next.size === this.size) return [];
    const before = this.size;
    await this.#write(join('checkpoints', this.#nameOf(next)), next.text);
    await this.#write('checkpoint', next.text);
    this.#newest = next;
    await this.#removePartial(before, next.size);
    return [];
  }

  async #contradictions(
    next: Checkpoint,
    remote: RemoteTree,
    onEvents: (events: number) => void,
  ): Promise<Finding[]> {
    const { size } = this;
    if (next.origin !== this.#origin)
      throw new Error(`the service sent checkpoints of ${this.#origin} and of ${next.origin}`);
    if (next.size < size) return [shorter(next.size, size)];
    const edge = await this.#edge();
    if (next.size === size) return isSame(edge.root(), next.root) ? [] : [forkFinding(size)];
    const kept = await this.#lastEntries();
    for (let index = Math.floor(size / tileWidth); index * tileWidth < next.size; index += keepTilesAtOnce) {
      const bundles = await remote.bundles(index, keepTilesAtOnce, next.size);
      for (const [at, bundle] of bundles.entries()) {
        const isFirst = (index + at) * tileWidth < size;
        const entries = fromBundle(bundle);
        if (isFirst && !entries.subarray(0, kept.length).equals(kept)) return [replaced(size)];
        await this.#add(edge, index + at, bundle, entries.subarray(isFirst ? kept.length : 0));
      }
      onEvents(edge.size);
    }
    if (!isSame(edge.root(), next.root)) return [notContinued(size, next.size)];
    for (const tile of edge.partialTiles()) await this.#writeHashes(tile);
    return [];
  }

  async #add(edge: RightEdge, index: number, bundle: Buffer, entries: Buffer): Promise<void> {
    const full: TileHashes[] = [];
    edge.addAll(leafHashes(entries, entryBytes), (tile) =>
      full.push({ ...tile, hashes: Buffer.from(tile.hashes) }),
    );
    for (const tile of full) await this.#writeHashes(tile);
    const width = bundle.length / (entryBytes + 2);
    await this.#write(tilePath({ kind: 'entries', level: 0, index, width }), bundle);
  }

  async #edge(): Promise<RightEdge> {
    const { size } = this;
    const partial: TileHashes[] = [];
    for (let level = 0; level < countLevels(size); level++) {
      const index = Math.floor(hashesAtLevel(level, size) / tileWidth);
      const width = widthIn({ level, index }, size);
      if (width > 0)
        partial.push({
          level,
          index,
          width,
          hashes: await this.#read({ kind: 'hashes', level, index, width }),
        });
    }
    const edge = RightEdge.of(size, partial);
    if (this.#newest === undefined || isSame(edge.root(), this.#newest.root)) return edge;
    throw new Error(`${this.#directory} is damaged: its tiles do not match the root of its checkpoint`);
  }

  async #lastEntries(): Promise<Buffer> {
    const index = Math.floor(this.size / tileWidth);
    const width = widthIn({ level: 0, index }, this.size);
    return width === 0
      ? Buffer.alloc(0)
      : fromBundle(await this.#read({ kind: 'entries', level: 0, index, width }));
  }

  async #read(tile: Parameters<typeof tilePath>[0]): Promise<Buffer> {
    const path = join(this.#directory, tilePath(tile));
    const content = await ifThere(readFile(path));
    if (content !== undefined) return content;
    throw new Error(`${this.#directory} is damaged: ${path} is missing`);
  }

  #writeHashes({ level, index, width, hashes }: TileHashes): Promise<void> {
    return this.#write(tilePath({ kind: 'hashes', level, index, width }), hashes);
  }

  async #removePartial(before: number, size: number): Promise<void> {
    for (let level = 0; level < countLevels(before); level++) {
      const tile = { level, index: Math.floor(hashesAtLevel(level, before) / tileWidth) };
      const needed = widthIn(tile, size);
      for (const kind of level === 0 ? (['hashes', 'entries'] as const) : (['hashes'] as const)) {
        const directory = dirname(join(this.#directory, tilePath({ ...tile, kind, width: 1 })));
        if (needed === tileWidth) await rm(directory, { recursive: true, force: true });
        else
          for (const name of await namesIn(directory))
            if (Number(name) !== needed) await rm(join(directory, name), { force: true });
      }
    }
  }

  #nameOf({ size }: Checkpoint): string {
    return String(size).padStart(16, '0');
  }

  async #write(name: string, content: string | Buffer): Promise<void> {
    const path = join(this.#directory, name);
    await makeDirectories(dirname(path));
    await replaceFile(path, content);
  }
}

function shorter(shown: number, kept: number): Finding {
  return {
    kind: 'shorter',
    position: shown,
    detail: `the service sent a checkpoint of ${shown} events, but the kept one covers ${kept}: the events from position ${shown} are missing, or this server is behind another; repeat the command`,
  };
}

function replaced(size: number): Finding {
  return {
    kind: 'contradicted',
    detail: `the service sent entries that differ from the kept ones among the first ${size}`,
  };
}

function notContinued(kept: number, size: number): Finding {
  return {
    kind: 'contradicted',
    position: kept,
    detail: `the ${kept} kept entries and the entries from position ${kept} do not match the root signed for ${size} events`,
  };
}

export interface KeepOptions extends TrustOptions, RemoteOptions {
  readonly keep?: string;
}

/** Verifies that the new part of a tree continues the kept one, and keeps it. */
export async function keepTree(deps: ToolDeps, directory: string, options: KeepOptions): Promise<Report> {
  const trust = await readTrust(options);
  if (trust === undefined)
    throw new Problem('malformed', '--keep needs the public key of the log: give --key');
  const remote = await remoteTree(deps, options);
  const newest = trust.read(await remote.checkpoint());
  const kept = await KeptTree.open(directory, newest.origin);
  const before = kept.size;
  const progress = createProgress(deps.io, { items: 'events', total: newest.size });
  const onEvents = (events: number): void => progress.at(events, events);
  let findings: Finding[] = [];
  // An interrupted first run continues from its last step.
  while (findings.length === 0 && kept.size + keepStepEvents < newest.size) {
    const step = trust.read(await remote.checkpoint(kept.size + keepStepEvents));
    if (step.size >= newest.size) break;
    findings = await kept.advance(step, remote, onEvents);
  }
  if (findings.length === 0) findings = await kept.advance(newest, remote, onEvents);
  progress.end();
  return {
    origin: newest.origin,
    events: kept.size - before,
    covered: kept.size,
    findings,
    confirm: [],
    notes: [`${directory} had ${before} events and has ${kept.size}`],
  };
}
