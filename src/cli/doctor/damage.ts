import { join } from 'node:path';
import { namesIn } from '../../base/files/durable-file.ts';
import { readLedger } from '../../storage/ledger.ts';
import { activeParts, isPartWhole, quarantinedParts } from '../../storage/parts.ts';
import type { Storage } from '../../storage/storage.ts';
import { compareWithTable, listAcknowledgedLosses } from '../../storage/stored-counts.ts';
import type { CliIo } from '../../tools/context.ts';
import { counted } from '../../tools/output.ts';
import { createProgress } from '../../tools/progress.ts';
import { limits } from '../limits.ts';
import { type Check, check, type Finding } from './check.ts';
import { damagedPart, restoreBackup } from './remedies.ts';

/** How long a look at the tiles of all trees may take. */
const doctorTreesMsMax = 600_000;

const keptFor: Readonly<Record<string, Omit<Finding, 'id'>>> = {
  damaged: {
    detail: 'a segment of the log that was damaged on disk; its intact events are stored',
    remedy: 'have the producers of that time send their events again, then remove the file',
  },
  missing: {
    detail: 'a segment of the log whose file was gone; its events that were not stored before are lost',
    remedy: 'have the producers of that time send their events again, then remove the file',
  },
  refused: {
    detail: 'a segment of the log that the engine refused; its events are in this file only',
    remedy: 'keep the file, find the reason in the operational log, and report it',
  },
};

/** Looks for files that the log keeps as evidence of loss, or for an operator to inspect (docs/operate.md, Damage). */
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
    ...strays.map((name) => `${name}: a file that bore the name of a segment and is none; it was set aside`),
  ]);
}

/** Compares the ledger with the table, and looks at the parts that the engine has quarantined. */
export async function checkLedger(storage: Storage, dataDir: string): Promise<Check[]> {
  let isDamaged = false;
  const ledger = await readLedger(dataDir, () => (isDamaged = true));
  const { missing } =
    ledger === undefined ? { missing: [] } : await compareWithTable(storage, ledger, Date.now());
  const findings = missing.map(({ partition, rows }) => ({
    id: partition,
    detail: `${rows} stored events of this partition are not in the table any more`,
    remedy: `${restoreBackup}, or give them up with "auditlog doctor --record-missing"`,
  }));
  if (isDamaged)
    findings.push({
      id: 'ledger.json',
      detail: 'this record of stored events is damaged',
      remedy: 'start the server: it makes a new one',
    });
  const losses = (await listAcknowledgedLosses(storage)).map(
    ({ rows, partition, recorded }) =>
      `${rows} events of partition ${partition} were recorded as lost at ${recorded}Z`,
  );
  const notes = ledger === undefined && !isDamaged ? ['there is no ledger yet', ...losses] : losses;
  const setAside = await quarantinedParts(storage);
  const quarantined = setAside.filter(({ table }) => table === 'events');
  const isLoss = (partition: string): boolean => missing.some((one) => one.partition === partition);
  return [
    check('nothing_missing', findings, notes),
    check(
      'no_part_set_aside',
      quarantined
        .filter(({ partition }) => isLoss(partition))
        .map(({ name, reason }) => ({
          id: name,
          detail: `set aside by the engine (${reason}), and events are missing`,
          remedy: `${restoreBackup}, or give them up with "auditlog doctor --record-missing"`,
        })),
      [
        ...quarantined
          .filter(({ partition }) => !isLoss(partition))
          .map(({ name }) => `${name} was set aside by the engine, and no counted event is missing`),
        // Mostly the rest of a merge that a power cut has ended: what it was made of is there.
        ...setAside
          .filter(({ table }) => table !== 'events')
          .map(({ table, name }) => `${table}/${name} was set aside by the engine`),
      ],
    ),
  ];
}

const rowName = ({ table }: { readonly table: string }) => (table === 'events' ? 'event' : 'row');

/** Reads every part of every table. */
export async function checkParts(storage: Storage, io: CliIo): Promise<Check> {
  const parts = await activeParts(storage);
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const progress = createProgress(io, { items: 'parts', total });
  const findings: Finding[] = [];
  let done = 0;
  let items = 0;
  try {
    for (const part of parts) {
      if (!(await isPartWhole(storage, part)))
        findings.push(
          damagedPart(part.table, part.name, `damaged, with ${counted(part.rows, rowName(part))}`),
        );
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

/** A tree whose tiles have gaps, or end before its checkpoint: the engine has lost some of it. */
export async function checkTrees(storage: Storage): Promise<Check> {
  const gaps = await storage.rows<Record<'id' | 'tiles', string>>(
    `SELECT toString(org) AS id, toString(sum(lost)) AS tiles FROM
       (SELECT org, max(tile) + 1 - count() AS lost FROM evidence_tiles FINAL GROUP BY org, level)
     GROUP BY org HAVING sum(lost) > 0 ORDER BY org LIMIT {limit:UInt32}`,
    { limit: limits.doctorOrganizationsMax },
    { timeoutMs: doctorTreesMsMax },
  );
  const short = await storage.rows<Record<'id' | 'size' | 'events', string>>(
    `SELECT toString(org) AS id, toString(signed.size) AS size, toString(trees.events) AS events
     FROM (SELECT org, max(size) AS size FROM evidence_checkpoints WHERE org NOT IN (SELECT id FROM deletions)
       GROUP BY org) AS signed
     LEFT JOIN (SELECT org, max(tile * 256 + width) AS events FROM evidence_tiles WHERE level = 0 GROUP BY org) AS trees
       USING org
     WHERE signed.size > trees.events ORDER BY org LIMIT {limit:UInt32}`,
    { limit: limits.doctorOrganizationsMax },
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
      detail: `the tree of this organization has ${events} events, and its newest checkpoint signs ${size}`,
      remedy: restoreBackup,
    })),
  ]);
}
