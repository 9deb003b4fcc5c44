import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DamageRegister } from '../base/observability/damage.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { gauge } from '../base/observability/metrics.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { firstSeqOf, segmentAtTime, seqTimeMs } from '../base/events/sequence.ts';
import type { Lease } from '../storage/lease.ts';
import type { Storage } from '../storage/storage.ts';
import { checkpointText } from '../tlog/checkpoint.ts';
import { entryBytes, risingRows } from '../tlog/entry.ts';
import { hashBytes } from '../tlog/hash.ts';
import type { CheckpointTable } from './checkpoint-table.ts';
import { countEvents, endOfSlice, type Run, readRecordedRuns, type Stretch } from './event-entries.ts';
import { limits } from './limits.ts';
import { ForeignKeyError, type LogKey } from './log-key.ts';
import { type Contradiction, findContradiction, type OpenTree, OpenTrees } from './open-trees.ts';
import { type Progress, readProgress, writeProgress } from './progress-table.ts';
import { type Slice, divideSlices } from './slices.ts';
import { StoppedTrees } from './stopped-trees.ts';
import type { TileTable } from './tile-table.ts';

/**
 * Measured processor time of an event, engine and process together (bench/notes.md). A pause after each slice
 * keeps a backlog within its share of the machine.
 */
const eventCostMicros = 3.4;
const stopPollMs = 200;
/** Clock skew of a process whose events the end waits for. */
const aheadMsMax = 60_000;
const idleProgressMs = 600_000;
const stoppedRetryMs = 600_000;

export interface BuilderOptions {
  readonly storage: Storage;
  readonly tiles: TileTable;
  readonly checkpoints: CheckpointTable;
  readonly key: LogKey;
  /** With several processes the holder builds; undefined with an engine of one's own. */
  readonly lease: Lease | undefined;
  /** No later event has a lower `seq`. */
  watermark(): Promise<bigint>;
  readonly intervalMs: number;
  readonly shareOfMachine: number;
  /** The next start makes checkpoints that the end does not wait for. */
  readonly stopMsMax: number;
  readonly damage: DamageRegister;
  readonly log: Logger;
}

/**
 * Adds events below the watermark to all trees, and signs a checkpoint of each that has grown. A turn reads the order in slices;
 * each slice is stored whole (one INSERT), then signed. An interrupted turn is repeated: a tree knows its last event.
 */
export class Builder {
  readonly #options: BuilderOptions;
  readonly #trees: OpenTrees;
  readonly #turning: Repeated;
  readonly #stopped: StoppedTrees;
  #hasForeignKey = false;
  #leaseNumber = 0n;
  #progress: Progress | undefined;
  #savedMs = 0;
  #retryMs = 0;

  constructor(options: BuilderOptions) {
    this.#options = options;
    this.#trees = new OpenTrees(options.tiles, options.checkpoints);
    this.#stopped = new StoppedTrees(options);
    this.#turning = new Repeated(
      options.intervalMs,
      (signal) => this.turn(signal),
      (error) => this.#tell(error),
    );
    gauge('auditlog_evidence_watermark_seconds', 'Time up to which events are in their trees', [], (metric) =>
      metric.set(this.#progress === undefined ? 0 : seqTimeMs(this.#progress.watermark) / 1000),
    );
  }

  signs(organization: string): boolean {
    return !this.#hasForeignKey && !this.#stopped.has(organization);
  }

  /** Signs for all stored events, as far as the watermark passes them in time. */
  async stop(): Promise<void> {
    await this.#turning.stop();
    const ended = AbortSignal.timeout(this.#options.stopMsMax);
    try {
      await this.turn(ended);
      while (await this.#isBehind()) {
        await sleep(stopPollMs, undefined, { signal: ended });
        await this.turn(ended);
      }
    } catch (error) {
      if (!ended.aborted) this.#tell(error);
    }
    await this.#options.lease?.end();
  }

  /**
   * With a shared engine the watermark is seconds behind the clock, and no other process may sign for the last events. Does not
   * wait for events far ahead of the clock.
   */
  async #isBehind(): Promise<boolean> {
    if (this.#progress === undefined) return false;
    const counts = await countEvents(this.#options.storage, {
      from: this.#progress.watermark,
      before: firstSeqOf(segmentAtTime(Date.now() + aheadMsMax)),
    });
    return counts.size > 0;
  }

  async turn(signal: AbortSignal): Promise<void> {
    const { storage, lease, key } = this.#options;
    if (!(await this.#takeLease())) return;
    await key.publish(storage);
    this.#hasForeignKey = false;
    const before = await this.#options.watermark();
    const progress = this.#progress ?? (await this.#resume(before));
    if (performance.now() >= this.#retryMs) await this.#retry(progress, signal);
    if (before <= progress.watermark) return;
    const counts = await countEvents(storage, { from: progress.watermark, before });
    for (const slice of divideSlices(counts)) {
      await lease?.check();
      await this.#addEach(slice, { from: progress.watermark, before }, signal);
      signal.throwIfAborted();
    }
    await this.#advance({ ...progress, watermark: before }, counts.size > 0);
  }

  /** False if another process builds. Drops the state if another process may have built. */
  async #takeLease(): Promise<boolean> {
    const { lease } = this.#options;
    if (lease === undefined) return true;
    const isHeld = await lease.take();
    if (isHeld && lease.number === this.#leaseNumber) return true;
    this.#leaseNumber = lease.number;
    this.#trees.forget();
    this.#progress = undefined;
    return isHeld;
  }

  async #resume(before: bigint): Promise<Progress> {
    const progress = (await readProgress(this.#options.storage, 'every')) ?? (await this.#begin(before));
    this.#stopped.read(progress);
    this.#retryMs = 0;
    this.#progress = progress;
    return progress;
  }

  async #retry(progress: Progress, signal: AbortSignal): Promise<void> {
    this.#retryMs = performance.now() + stoppedRetryMs;
    await this.#stopped.retry(progress.watermark, (organization, from) =>
      this.#addEach(
        { organizations: [organization], events: Number.POSITIVE_INFINITY },
        { from, before: progress.watermark },
        signal,
      ),
    );
  }

  /** If an organization's events or tree cannot be read, each organization is tried alone, and only the broken one stops. */
  async #addEach({ organizations, events }: Slice, stretch: Stretch, signal: AbortSignal): Promise<void> {
    try {
      await this.#add(organizations, events, stretch, signal);
    } catch (error) {
      if (signal.aborted || isOfAll(error)) throw error;
      const [first, ...others] = organizations;
      if (first === undefined) return;
      if (others.length === 0) {
        this.#options.log.warn({ organization: first, ...errorFacts(error) }, unreadableWords);
        this.#contradict({ organization: first, words: unreadableWords });
        return;
      }
      for (const one of organizations) await this.#addEach({ organizations: [one], events }, stretch, signal);
    }
  }

  async #begin(before: bigint): Promise<Progress> {
    const progress = {
      watermark: 0n,
      stopped: new Map<string, bigint>(),
      begunBefore: before,
      begunMicros: Date.now() * 1000,
    };
    await writeProgress(this.#options.storage, progress);
    this.#options.log.info({ begunBefore: String(before) }, 'Evidence begins with the stored events');
    return progress;
  }

  async #advance(progress: Progress, hasEvents: boolean): Promise<void> {
    // First, or the events that a stopped tree lacks would count as included.
    await this.#stopped.save(this.#progress?.watermark ?? 0n);
    this.#progress = progress;
    const now = performance.now();
    if (!hasEvents && now - this.#savedMs < idleProgressMs) return;
    await writeProgress(this.#options.storage, progress);
    this.#savedMs = now;
  }

  /** One slice, except for organizations with more than a slice. */
  async #add(
    organizations: readonly string[],
    events: number,
    all: Stretch,
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = organizations.filter((one) => !this.#stopped.has(one));
    const trees = await this.#trees.open(wanted, (one) => this.#contradict(one));
    for (const [organization, open] of trees) {
      // Its tiles were lost after it was signed.
      const isBehind = open.tree.size < (open.signed?.size ?? 0);
      if (!isBehind && events <= limits.sliceEventsMax) continue;
      trees.delete(organization);
      const from = isBehind || open.tree.lastSeq >= all.from ? open.tree.lastSeq + 1n : all.from;
      await this.#addMany(open, { from, before: all.before }, signal);
    }
    await this.#addPaced(trees, all, signal);
  }

  async #addMany(open: OpenTree, { from, before }: Stretch, signal: AbortSignal): Promise<void> {
    const { organization } = open;
    for (let at = from; at < before && !this.#stopped.has(organization); ) {
      const end = await endOfSlice(this.#options.storage, organization, { from: at, before });
      await this.#addPaced(new Map([[organization, open]]), { from: at, before: end }, signal);
      at = end;
    }
  }

  async #addPaced(trees: Map<string, OpenTree>, stretch: Stretch, signal: AbortSignal): Promise<void> {
    if (trees.size === 0) return;
    const begunMs = performance.now();
    const added = await this.#addSlice(trees, stretch);
    const elapsedMs = performance.now() - begunMs;
    const pauseMs = pauseAfter(added, elapsedMs, this.#options.shareOfMachine);
    if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
  }

  async #addSlice(trees: Map<string, OpenTree>, stretch: Stretch): Promise<number> {
    const { storage, tiles, checkpoints, key } = this.#options;
    let added = 0;
    try {
      for (const run of await readRecordedRuns(storage, [...trees.keys()], stretch)) {
        const open = trees.get(run.organization);
        if (open === undefined) continue;
        const { size } = open.tree;
        const contradiction = addRun(open, run);
        added += open.tree.size - size;
        if (contradiction === undefined) continue;
        this.#contradict(contradiction);
        trees.delete(run.organization);
      }
      await tiles.insert([...trees.values()].flatMap(({ tree }) => tree.takeChanged()));
      const grown = [...trees.values()].filter(({ tree, signed }) => tree.size > (signed?.size ?? 0));
      const heads = grown.map((open) => ({ open, head: { size: open.tree.size, root: open.tree.root() } }));
      const signed = heads.map(({ open: { organization }, head }) => {
        const text = checkpointText({ origin: key.originOf(organization), ...head });
        return { organization, size: head.size, note: key.signerOf(organization).sign(text) };
      });
      await checkpoints.insert(signed);
      for (const { open, head } of heads) open.signed = head;
    } catch (error) {
      // The trees in memory may have what was not stored.
      this.#trees.forget([...trees.keys()]);
      throw error;
    }
    return added;
  }

  /** Signs nothing more for this organization until an operator has resolved it. */
  #contradict(contradiction: Contradiction): void {
    this.#trees.forget([contradiction.organization]);
    this.#stopped.stop(contradiction);
  }

  #tell(error: unknown): void {
    const { log, damage } = this.#options;
    if (!(error instanceof ForeignKeyError)) {
      log.warn(errorFacts(error), 'Adding to the trees of evidence failed; will retry');
      return;
    }
    this.#hasForeignKey = true;
    if (damage.report({ kind: 'evidence', id: 'key', detail: error.message }))
      log.error({ id: 'key' }, error.message);
  }
}

const unreadableWords = 'the events of the organization, or its tree, cannot be read';

const isOfAll = (error: unknown): boolean => error instanceof EngineError && error.damagedPart === undefined;

/** Up to the first contradiction of the tree's checkpoint. */
function addRun(open: OpenTree, run: Run): Contradiction | undefined {
  const { tree, signed } = open;
  for (const [from, to] of risingRows(run.entries, tree.lastSeq)) {
    // At the checkpoint's size the root must match.
    const toSigned = (signed?.size ?? 0) - tree.size;
    const middle = toSigned > 0 ? Math.min(to, from + toSigned) : from;
    for (const [start, end] of [
      [from, middle],
      [middle, to],
    ] as const) {
      if (start === end) continue;
      tree.add(
        run.entries.subarray(start * entryBytes, end * entryBytes),
        run.leaves.subarray(start * hashBytes, end * hashBytes),
      );
      const contradiction = findContradiction(open);
      if (contradiction !== undefined) return contradiction;
    }
  }
  return undefined;
}

/** By the time of the slice if nothing else ran, else by its estimated cost. */
function pauseAfter(events: number, elapsedMs: number, shareOfMachine: number): number {
  const costMs = Math.min((events * eventCostMicros) / 1000, elapsedMs);
  return costMs / (shareOfMachine * availableParallelism()) - elapsedMs;
}
