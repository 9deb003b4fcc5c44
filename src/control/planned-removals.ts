import { gauge } from '../base/observability/metrics.ts';
import { formatMicros } from '../base/time/timestamp.ts';
import type { Storage } from '../storage/storage.ts';
import type { Expired } from '../storage/removal.ts';
import { limits } from './limits.ts';

/** A restart may lose so much running time. */
const runningStoreMs = 600_000;

/** Hidden from readers, and removed after the grace period of running time. */
export interface PlannedRemoval extends Expired {
  /** When the removal was planned. */
  readonly events: number;
  /** The running time (milliseconds) from which they are removed. */
  readonly dueMs: number;
}

export interface WaitingRemoval extends PlannedRemoval {
  readonly waitsMs: number;
}

/** Rejects with EngineError. */
export async function waitingRemovals(
  storage: Storage,
  organization?: string,
): Promise<ReadonlyMap<string, WaitingRemoval>> {
  const [rows, runningMs] = await Promise.all([
    storage.rows<{ org: string; until: string; n: string; at: string }>(
      `SELECT toString(id) AS org, toString(before) AS until, toString(events) AS n, toString(due) AS at
       FROM planned_removals FINAL WHERE before > 0${organization === undefined ? '' : ' AND id = {id:UUID}'}`,
      organization === undefined ? {} : { id: organization },
    ),
    storedRunningMs(storage),
  ]);
  const found = rows.map(({ org, until, n, at }): [string, WaitingRemoval] => {
    const plan = { organization: org, beforeMicros: Number(until), events: Number(n), dueMs: Number(at) };
    return [org, { ...plan, waitsMs: Math.max(0, plan.dueMs - runningMs) }];
  });
  return new Map(found);
}

export function removalView(removal: WaitingRemoval | undefined) {
  if (removal === undefined) return {};
  const { events, beforeMicros, waitsMs } = removal;
  return {
    planned_removal: { events, before: formatMicros(beforeMicros), in_seconds: Math.ceil(waitsMs / 1000) },
  };
}

async function storedRunningMs(storage: Storage): Promise<number> {
  const [row] = await storage.rows<{ running: string }>(
    'SELECT toString(max(running)) AS running FROM running_time',
  );
  return Number(row?.running ?? 0);
}

/**
 * Planned removals and the running time of servers, under the lease of the reconciler.
 */
export class PlannedRemovals {
  readonly #storage: Storage;
  readonly #graceMs: number;
  readonly #passedMs: () => number;
  #runningMs = 0;
  /** At the last turn, by `passedMs`. */
  #lookedMs: number | undefined;
  #storedMs = 0;
  #waiting = new Map<string, PlannedRemoval>();

  constructor(storage: Storage, graceMs: number, passedMs: () => number = () => performance.now()) {
    this.#storage = storage;
    this.#graceMs = graceMs;
    this.#passedMs = passedMs;
    const help = 'Expired events that are hidden and will be removed.';
    gauge('auditlog_retention_planned_events', help, [], (metric) =>
      metric.set([...this.#waiting.values()].reduce((sum, { events }) => sum + events, 0)),
    );
  }

  /**
   * Adds the time since this process's last turn, at most `runningStepMsMax`. The highest count of all servers holds, so none counts
   * twice. Rejects with EngineError.
   */
  async turn(): Promise<void> {
    const now = this.#passedMs();
    const passedMs = Math.min(now - (this.#lookedMs ?? now), limits.runningStepMsMax);
    this.#lookedMs = now;
    this.#storedMs = await storedRunningMs(this.#storage);
    this.#runningMs = Math.max(this.#runningMs + Math.floor(passedMs), this.#storedMs);
    if (this.#runningMs - this.#storedMs >= Math.min(runningStoreMs, this.#graceMs / 2)) await this.#store();
    this.#waiting = new Map(await waitingRemovals(this.#storage));
  }

  of(organization: string): PlannedRemoval | undefined {
    return this.#waiting.get(organization);
  }

  organizations(): readonly string[] {
    return [...this.#waiting.keys()];
  }

  isDue({ dueMs }: PlannedRemoval): boolean {
    return this.#runningMs >= dueMs;
  }

  async plan({ organization, beforeMicros }: Expired, events: number): Promise<void> {
    const plan = { organization, beforeMicros, events, dueMs: this.#runningMs + this.#graceMs };
    await this.#store();
    await this.#write(plan);
    this.#waiting.set(organization, plan);
  }

  /** Its events are removed, or will not be. */
  async end(plan: PlannedRemoval): Promise<void> {
    await this.#write({ ...plan, beforeMicros: 0, events: 0 });
    this.#waiting.delete(plan.organization);
  }

  #write({ organization, beforeMicros, events, dueMs }: PlannedRemoval): Promise<void> {
    const row = { id: organization, before: beforeMicros, events, due: dueMs, version: this.#runningMs };
    return this.#storage.insertRows('planned_removals', [row]);
  }

  async #store(): Promise<void> {
    if (this.#runningMs === this.#storedMs) return;
    await this.#storage.insertRows('running_time', [{ id: 0, running: this.#runningMs }]);
    this.#storedMs = this.#runningMs;
  }
}
