import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError } from '../base/engine-error.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { limits } from './limits.ts';
import { quoteIdentifier, quoteString } from './quote.ts';
import type { Settings, Storage } from './storage.ts';

/** A table of claims: (a column for what is claimed, `instance` UUID, `seen` DateTime64 with a default of now). */
export interface ClaimTable {
  readonly table: string;
  readonly column: string;
  readonly type: 'String' | 'UInt8';
  /** A claim that was not renewed for so long is void. */
  readonly lastsMs: number;
}

/** Nodes that do not answer are left out; whoever must not overlook one looks how many did. */
export const everywhere: Settings = { skip_unavailable_shards: 1 };

/**
 * A replacing table as all replicas of a cluster have it, as one of them may lag behind: its rows may be there several
 * times, and older ones beside newer ones.
 */
export const everyReplicaOf = ({ cluster }: Storage, table: string): string =>
  cluster === undefined
    ? table
    : `clusterAllReplicas(${quoteString(cluster)}, currentDatabase(), ${quoteIdentifier(table)})`;

/** A row by which one of several processes that share an engine has something for itself. */
export class Claim {
  readonly #storage: Storage;
  readonly #table: ClaimTable;
  readonly #row: Readonly<Record<string, string | number>>;
  readonly #parameters: { readonly what: string | number; readonly instance: string };

  constructor(storage: Storage, table: ClaimTable, what: string | number, instance: string) {
    this.#storage = storage;
    this.#table = table;
    this.#row = { [table.column]: what, instance };
    this.#parameters = { what, instance };
  }

  /**
   * Puts the claim down and looks whether it holds. Of claims made at once the one of the lowest instance does; one
   * that was clearly there before has been acted on already.
   */
  async take(): Promise<boolean> {
    await this.renew();
    await sleep(limits.claimSettleMs);
    await requireMajority(this.#storage);
    const { instance: own } = this.#parameters;
    const isLost = (await this.rivals()).some(
      ({ instance, age }) => Number(age) > limits.claimSettleMs * 2 || instance < own,
    );
    if (isLost) await this.withdraw();
    return !isLost;
  }

  renew(): Promise<void> {
    return this.#storage.insertRows(this.#table.table, [this.#row]);
  }

  withdraw(): Promise<void> {
    const { table, column, type } = this.#table;
    return this.#storage.command(
      `DELETE FROM ${table} WHERE ${column} = {what:${type}} AND instance = {instance:UUID}`,
      this.#parameters,
      // By itself the engine waits for all replicas, also for one that is down.
      { settings: { lightweight_deletes_sync: 1 } },
    );
  }

  /** Claims of other processes on the same; `age` in milliseconds. */
  rivals(): Promise<{ readonly instance: string; readonly age: string }[]> {
    const { table, column, type, lastsMs } = this.#table;
    return this.#storage.rows(
      `SELECT instance, toString(dateDiff('millisecond', max(seen), now64(3))) AS age
       FROM ${everyReplicaOf(this.#storage, table)}
       WHERE ${column} = {what:${type}} AND instance != {instance:UUID} GROUP BY instance
       HAVING max(seen) > now64(3) - toIntervalMillisecond(${lastsMs})`,
      this.#parameters,
      { settings: everywhere },
    );
  }
}

const tasks: ClaimTable = {
  table: 'evidence_claims',
  column: 'task',
  type: 'String',
  lastsMs: limits.claimMsMax,
};

/**
 * A claim that is renewed for as long as its process lives. Of one that was killed the claim is void after `claimMsMax`, and
 * the next process takes the work up.
 */
export class HeldClaim {
  readonly #claim: Claim;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #renewedMs: number;

  private constructor(claim: Claim, log: Logger, takenMs: number) {
    this.#claim = claim;
    this.#log = log;
    this.#renewedMs = takenMs;
    this.#timer = setInterval(() => void this.#renew(), limits.claimRenewMs);
  }

  /**
   * On what one of the processes that share an engine does at a time: the trees, retention, erasures, the planning of one.
   * Undefined where another process has it. Rejects with EngineError.
   */
  static async take(
    storage: Storage,
    task: string,
    instance: string,
    log: Logger,
  ): Promise<HeldClaim | undefined> {
    const claim = new Claim(storage, tasks, task, instance);
    const begunMs = performance.now();
    const isTaken = (await claim.rivals()).length === 0 && (await claim.take());
    return isTaken ? new HeldClaim(claim, log, begunMs) : undefined;
  }

  /** False once another may have taken it, as this process stood still or could not reach the engine. */
  get isOurs(): boolean {
    return performance.now() - this.#renewedMs < limits.claimMsMax;
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#claim.withdraw();
  }

  /** What came too late stays lost: another has been told that it may begin. */
  async #renew(): Promise<void> {
    if (!this.isOurs) return;
    const begunMs = performance.now();
    try {
      await this.#claim.renew();
      this.#renewedMs = begunMs;
    } catch (error) {
      this.#log.debug(errorFacts(error), 'a claim could not be renewed yet');
    }
  }
}

/** A row of a replacing table is written to most replicas of a cluster: so where most answer none is overlooked. */
export async function requireMajority(storage: Storage): Promise<void> {
  const { cluster } = storage;
  if (cluster === undefined) return;
  const [row] = await storage.rows<{ answer: string; nodes: string }>(
    `SELECT toString(count()) AS answer,
       toString((SELECT count() FROM system.clusters WHERE cluster = {cluster:String})) AS nodes
     FROM clusterAllReplicas(${quoteString(cluster)}, system.one)`,
    { cluster },
    { settings: everywhere },
  );
  const { answer, nodes } = { answer: Number(row?.answer ?? 0), nodes: Number(row?.nodes ?? 0) };
  if (answer * 2 > nodes) return;
  const words = `${answer} of the ${nodes} nodes of the cluster answer: this takes most of them`;
  throw new EngineError('unreachable', words);
}
