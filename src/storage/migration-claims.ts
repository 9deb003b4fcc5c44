import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { renderMigration } from './render-migration.ts';
import type { Storage } from './storage.ts';

/** Who else could be at the same migration:
 *
 * - `exclusive`: nobody; the engine is this process' own;
 * - `shared`: processes that share a ClickHouse server, this one being `instance` (a UUID that outlives a restart);
 * - `follower`: this is a command, and the engine is that of a running server, which migrates at its start.
 */
export type MigrationMode =
  | { readonly kind: 'exclusive' }
  | { readonly kind: 'shared'; readonly instance: string }
  | { readonly kind: 'follower' };

interface Turn {
  readonly storage: Storage;
  readonly cluster: string | undefined;
  readonly log: Logger;
  readonly migration: string;
  /** True once some process has finished the migration. */
  isDone(): Promise<boolean>;
}

const claimsTable = `CREATE TABLE IF NOT EXISTS migration_claims {{on_cluster}} (
  migration String, instance UUID, seen DateTime64(3, 'UTC') DEFAULT now64(3)
) ENGINE = {{ReplacingMergeTree(seen)}} ORDER BY (migration, instance);`;

/**
 * Does the work of a migration that one process at a time may do, or waits until another has done it. A claim is a row
 * that is renewed for as long as its process lives, so the work of one that died is taken up by the next.
 *
 * Rejects with what `work` rejects with, an EngineError, or an Error when the others do not come to an end.
 */
export async function withMigrationClaim(
  mode: MigrationMode,
  turn: Turn,
  work: () => Promise<void>,
): Promise<void> {
  if (mode.kind === 'exclusive') return work();
  if (mode.kind === 'follower') return waitForServer(turn);
  const { storage, cluster } = turn;
  for (const statement of renderMigration(claimsTable, { database: storage.database, cluster })) {
    await storage.command(statement);
  }
  const claim = new Claim(turn, mode.instance);
  if (!(await claim.take())) return;
  try {
    await work();
  } finally {
    await claim.release();
  }
}

/** Commands do not migrate under the feet of a running server. */
async function waitForServer({ migration, isDone }: Turn): Promise<void> {
  const deadline = performance.now() + limits.cliEngineWaitMsMax;
  while (!(await isDone())) {
    if (performance.now() > deadline) {
      throw new Error(
        `the server that runs on this data directory has not applied the migration ${migration}: ` +
          'it is still at it, or of an earlier release and has to be started anew',
      );
    }
    await sleep(limits.cliEngineWaitDelayMs);
  }
}

interface Rival {
  readonly instance: string;
  readonly ageMs: number;
}

class Claim {
  readonly #turn: Turn;
  readonly #instance: string;
  #renewing: NodeJS.Timeout | undefined;

  constructor(turn: Turn, instance: string) {
    this.#turn = turn;
    this.#instance = instance;
  }

  /** True when the work is this process'; false when another has done it meanwhile. */
  async take(): Promise<boolean> {
    const { log, migration, isDone } = this.#turn;
    const deadline = performance.now() + limits.migrationMsMax;
    for (let told = false; ; told = true) {
      if (await isDone()) return false;
      if ((await this.#rivals()).length === 0 && (await this.#win())) return true;
      if (performance.now() > deadline) {
        throw new Error(`another process has been at the migration ${migration} for too long`);
      }
      if (!told) log.info({ migration }, 'waiting for another process that applies a migration');
      await sleep(limits.migrationClaimPollMs);
    }
  }

  async release(): Promise<void> {
    clearInterval(this.#renewing);
    await this.#withdraw();
  }

  /** Puts the claim down and looks whether it holds: of claims made at once the one of the lowest instance does. */
  async #win(): Promise<boolean> {
    await this.#put();
    await sleep(limits.migrationClaimSettleMs);
    const lost = (await this.#rivals()).some(
      ({ instance, ageMs }) => ageMs > limits.migrationClaimSettleMs * 2 || instance < this.#instance,
    );
    if (lost) {
      await this.#withdraw();
      return false;
    }
    this.#renewing = setInterval(() => {
      this.#put().catch((error: unknown) =>
        this.#turn.log.warn(errorFacts(error), 'the claim of a migration could not be renewed yet'),
      );
    }, limits.migrationClaimRenewMs);
    return true;
  }

  async #put(): Promise<void> {
    const { storage, migration } = this.#turn;
    await storage.insertRows('migration_claims', [{ migration, instance: this.#instance }]);
  }

  async #withdraw(): Promise<void> {
    const { storage, migration } = this.#turn;
    await storage.command(
      'DELETE FROM migration_claims WHERE migration = {migration:String} AND instance = {instance:UUID}',
      { migration, instance: this.#instance },
    );
  }

  async #rivals(): Promise<Rival[]> {
    const { storage, migration } = this.#turn;
    const rows = await storage.rows<{ instance: string; age: string }>(
      `SELECT instance, toString(dateDiff('millisecond', seen, now64(3))) AS age FROM migration_claims FINAL
       WHERE migration = {migration:String} AND instance != {own:UUID}
         AND seen > now64(3) - toIntervalMillisecond({lasts:UInt32})`,
      { migration, own: this.#instance, lasts: limits.migrationClaimMsMax },
    );
    return rows.map(({ instance, age }) => ({ instance, ageMs: Number(age) }));
  }
}
