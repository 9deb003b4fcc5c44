import { join } from 'node:path';
import { namesIn } from '../../base/files/durable-file.ts';
import { findMissing, listAcknowledged } from '../../evidence/missing-events.ts';
import {
  type ActivePart,
  activeParts,
  type BrokenProjection,
  brokenProjections,
  isPartWhole,
  quarantinedParts,
} from '../../storage/parts.ts';
import { readControlState } from '../../control/directory.ts';
import type { Storage } from '../../storage/storage.ts';
import type { CliIo } from '../../tools/context.ts';
import { counted } from '../../tools/output.ts';
import { createProgress } from '../../tools/progress.ts';
import { limits } from '../limits.ts';
import { type Check, check, type Finding } from './check.ts';
import { damagedPart, restoreBackup } from './remedies.ts';

const doctorTreesMsMax = 600_000;

const keptFor: Readonly<Record<string, Omit<Finding, 'id'>>> = {
  damaged: {
    detail: 'a segment of the log was damaged on disk; its intact events are stored',
    remedy: 'have the producers resend the events of that time, then remove the file',
  },
  missing: {
    detail: 'the file of a log segment was missing; its events not yet inserted are lost',
    remedy: 'have the producers resend the events of that time, then remove the file',
  },
  refused: {
    detail: 'the engine refused a segment of the log; its events are only in this file',
    remedy: 'keep the file, find the reason in the operational log, and report it',
  },
};

/**
 * Finds files that the log keeps as evidence of loss, or for an operator to inspect (docs/operate.md,
 * Damage).
 */
export async function checkLogFolder(dataDir: string): Promise<Check> {
  const names = (await namesIn(join(dataDir, 'wal'))).sort();
  const findings = names.flatMap((id) => {
    const kept = keptFor[id.slice(id.lastIndexOf('.') + 1)];
    return kept === undefined ? [] : [{ id, ...kept }];
  });
  const waiting = names.filter((name) => name.endsWith('.wal')).length;
  const strays = names.filter((name) => name.endsWith('.unknown'));
  return check('log_intact', findings, [
    `${waiting} segments in the log`,
    ...strays.map((name) => `${name}: a file named like a segment that is none; it was renamed`),
  ]);
}

/**
 * Compares the number of stored events with the trees of evidence, and lists parts that the engine detached.
 */
export async function checkMissing(storage: Storage): Promise<Check> {
  const missing = await findMissing(storage, Date.now());
  const losses = await listAcknowledged(storage);
  const setAside = await quarantinedParts(storage);
  return check(
    'nothing_missing',
    missing.map(({ organization, events }) => ({
      id: organization,
      detail: `${events} stored events of this organization are missing from the table`,
      remedy: `${restoreBackup}, or accept the loss with "auditlog doctor --record-missing"`,
    })),
    [
      ...losses.map(
        ({ organization, events, recorded }) =>
          `${events} events of ${organization} were recorded as lost at ${recorded}Z`,
      ),
      // Mostly a part truncated by a full disk or a power cut: its rows were stored again, or are in the
      // parts it was merged from.
      ...setAside.map(({ table, name }) => `the engine has detached ${table}/${name}`),
    ],
  );
}

const rowName = ({ table }: { readonly table: string }) => (table === 'events' ? 'event' : 'row');

/** The engine checks nothing else of a part with a broken projection. */
function partFinding(part: ActivePart, broken: readonly BrokenProjection[]): Finding {
  const { table, name, rows } = part;
  const projections = broken.filter((one) => one.table === table && one.part === name);
  if (projections.length === 0)
    return damagedPart(table, name, `damaged, with ${counted(rows, rowName(part))}`);
  const names = projections.map((one) => one.name).join(', ');
  return {
    id: name,
    detail: `the projection ${names} is damaged: reads do without it, and are slower`,
    remedy: '"auditlog doctor --repair" makes it anew from the events; then look again',
  };
}

export async function checkParts(storage: Storage, io: CliIo): Promise<Check> {
  const parts = await activeParts(storage);
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const progress = createProgress(io, { items: 'parts', total });
  const broken = await brokenProjections(storage);
  const findings: Finding[] = [];
  let done = 0;
  let items = 0;
  try {
    for (const part of parts) {
      if (!(await isPartWhole(storage, part))) findings.push(partFinding(part, broken));
      done += part.bytes;
      items += 1;
      progress.at(done, items);
    }
  } finally {
    progress.end();
  }
  const tables = new Set(parts.map(({ table }) => table)).size;
  return check('parts_readable', findings, [
    `${counted(parts.length, 'part')} of ${counted(tables, 'table')}`,
  ]);
}

/** A tree whose tiles have gaps or end before its checkpoint: the engine lost data. */
export async function checkTrees(storage: Storage): Promise<Check> {
  // A running deletion removes tiles and checkpoints one after the other.
  const deletions = (await readControlState(storage)).deletions();
  const deleted = deletions.filter(({ finishedMicros }) => finishedMicros === undefined).map(({ id }) => id);
  const gaps = await storage.rows<Record<'id' | 'tiles', string>>(
    `SELECT toString(org) AS id, toString(sum(lost)) AS tiles FROM
       (SELECT org, max(tile) + 1 - count() AS lost FROM evidence_tiles FINAL GROUP BY org, level)
     GROUP BY org HAVING sum(lost) > 0 ORDER BY org LIMIT {limit:UInt32}`,
    { limit: limits.doctorOrganizationsMax },
    { timeoutMs: doctorTreesMsMax },
  );
  const short = await storage.rows<Record<'id' | 'size' | 'events', string>>(
    `SELECT toString(org) AS id, toString(signed.size) AS size, toString(trees.events) AS events
     FROM (SELECT org, max(size) AS size FROM evidence_checkpoints WHERE org NOT IN {deleted:Array(UUID)}
       GROUP BY org) AS signed
     LEFT JOIN (SELECT org, max(tile * 256 + width) AS events FROM evidence_tiles WHERE level = 0 GROUP BY org) AS trees
       USING org
     WHERE signed.size > trees.events ORDER BY org LIMIT {limit:UInt32}`,
    { limit: limits.doctorOrganizationsMax, deleted },
    { timeoutMs: doctorTreesMsMax },
  );
  return check('trees_whole', [
    ...gaps.map(({ id, tiles }) => ({
      id,
      detail: `${tiles} tiles of the tree of this organization are missing`,
      remedy: restoreBackup,
    })),
    ...short.map(({ id, size, events }) => ({
      id,
      detail: `the tree of this organization has ${events} events, and its newest checkpoint covers ${size}`,
      remedy: restoreBackup,
    })),
  ]);
}
