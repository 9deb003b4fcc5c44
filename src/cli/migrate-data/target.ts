import { EngineError } from '../../base/engine-error.ts';
import type { Logger } from '../../base/log.ts';
import { Problem } from '../../base/problem.ts';
import type { StopStack } from '../../base/stop-stack.ts';
import { listOrganizations } from '../../control/organizations.ts';
import { openStorage } from '../../storage/client.ts';
import { limits as storageLimits } from '../../storage/limits.ts';
import { migrate } from '../../storage/migrate.ts';
import { checkRights } from '../../storage/rights.ts';
import type { Storage } from '../../storage/storage.ts';
import { areOthersWriting } from '../../storage/watermarks.ts';
import { limits } from '../limits.ts';
import type { TargetOptions } from './options.ts';
import { type MoveRecord, MoveRecords } from './record.ts';

/** The ClickHouse server that data is moved to. */
export interface Target {
  readonly storage: Storage;
  readonly records: MoveRecords;
}

/** Reaches the target, and makes its tables. Rejects with an Error for the operator, or an EngineError. */
export async function openTarget(options: TargetOptions, log: Logger, stops: StopStack): Promise<Target> {
  const { connection } = options;
  const { url, user, cluster } = connection;
  const storage = openStorage({ ...connection, headers: {} }, log);
  stops.add(() => storage.close());
  try {
    const settings = { database: 'default' };
    await storage.rows('SELECT 1', {}, { settings, timeoutMs: storageLimits.commandEngineMsMax });
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const what = error.failure === 'refused' ? `refuses the user "${user}"` : 'does not answer';
    throw new Error(`the ClickHouse server at ${url} (--to) ${what}: ${error.message}`, { cause: error });
  }
  await checkRights(storage, user, cluster);
  await migrate(storage, { log, cluster });
  return { storage, records: await MoveRecords.open(storage, cluster) };
}

/**
 * The record of this move in the target; a new one, which is not written yet, where that is empty. Rejects with a Problem where it has data
 * that did not come from this source: one database has one order of ingest, and one key that signs its evidence.
 */
export async function recordIn(
  { storage, records }: Target,
  source: Storage,
  id: string,
): Promise<MoveRecord> {
  const found = await records.all();
  const own = found.find((one) => one.id === id);
  if (own?.state === 'source')
    throw new Problem('conflict', 'the target (--to, --to-database) is the database that the data is in now');
  if (own !== undefined) return own;
  const there = (await listOrganizations(storage)).map(({ slug }) => slug);
  const [row] = await storage.rows<{ rows: string }>(
    `SELECT (SELECT count() FROM (SELECT 1 FROM events LIMIT 1)) + (SELECT count() FROM organizations)
       + (SELECT count() FROM evidence_progress) AS rows`,
  );
  if (row?.rows !== '0') throw new Problem('conflict', await takenWords(storage.database, there, source));
  return { id, state: 'copying', through: 0n };
}

async function takenWords(database: string, there: readonly string[], source: Storage): Promise<string> {
  const here = new Set((await listOrganizations(source)).map(({ slug }) => slug));
  const named = (slugs: readonly string[]): string =>
    slugs.slice(0, limits.moveFindingsShownMax).join(', ') +
    (slugs.length > limits.moveFindingsShownMax ? ', …' : '');
  const both = there.filter((slug) => here.has(slug));
  const whose = there.length === 0 ? '' : ` of the organizations ${named(there)}`;
  const clash = both.length === 0 ? '' : `; of these are here, too: ${named(both)}`;
  return `the database "${database}" of the target has other data already${whose}${clash}. Name an empty one by --to-database`;
}

/** Rejects with a Problem where a server works on the target: until the move is finished nobody else may write there. */
export async function requireUnused({ storage }: Target, instance: string): Promise<void> {
  if (await areOthersWriting(storage, instance, storageLimits.writerSignMsMax))
    throw new Problem(
      'conflict',
      'a server writes to the target: stop it, and try again in half a minute; until the move is finished nothing but this command may write there',
    );
}
