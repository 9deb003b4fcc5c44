import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { renderMigration } from './render-migration.ts';
import type { Storage } from './storage.ts';
import { Claim, type ClaimTable } from './claim.ts';

/**
 * Who else could be at the same migration:
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

const claims: ClaimTable = {
  table: 'migration_claims',
  column: 'migration',
  type: 'String',
  lastsMs: limits.migrationClaimMsMax,
};
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
  const claim = new Claim(storage, claims, turn.migration, mode.instance);
  if (!(await takeOrWait(claim, turn))) return;
  const renewing = setInterval(() => {
    claim
      .renew()
      .catch((error: unknown) =>
        turn.log.warn(errorFacts(error), 'the claim of a migration could not be renewed yet'),
      );
  }, limits.migrationClaimRenewMs);
  try {
    await work();
  } finally {
    clearInterval(renewing);
    await claim.withdraw();
  }
}

/** True when the work is this process'; false when another has done it meanwhile. */
async function takeOrWait(claim: Claim, { log, migration, isDone }: Turn): Promise<boolean> {
  const deadline = performance.now() + limits.migrationMsMax;
  for (let isTold = false; ; isTold = true) {
    if (await isDone()) return false;
    if ((await claim.rivals()).length === 0 && (await claim.take())) {
      // The one before may have come to its end between the two looks.
      if (!(await isDone())) return true;
      await claim.withdraw();
      return false;
    }
    if (performance.now() > deadline)
      throw new Error(`another process has been at the migration ${migration} for too long`);
    if (!isTold) log.info({ migration }, 'waiting for another process that applies a migration');
    await sleep(limits.migrationClaimPollMs);
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
