import { join } from 'node:path';
import { namesIn } from '../../base/files/durable-file.ts';
import { readLedger } from '../../storage/ledger.ts';
import { activeParts, checkPart, quarantinedParts } from '../../storage/parts.ts';
import type { Storage } from '../../storage/storage.ts';
import { compareWithTable, listAcknowledgedLosses } from '../../storage/stored-counts.ts';
import type { CliIo } from '../../tools/context.ts';
import { counted } from '../../tools/output.ts';
import { createProgress } from '../../tools/progress.ts';
import { type Check, check, type Finding } from './check.ts';

const keptFor: Readonly<Record<string, string>> = {
  damaged: 'a segment of the log that was damaged on disk; what was intact in it has been stored',
  missing: 'a segment of the log whose file was gone; those of its events are lost that were not stored',
  refused: 'a segment of the log whose content the engine refused; its events are in this file only',
};

/** Looks for files that the log keeps as evidence of loss, or for an operator to inspect (docs/operate.md, Damage). */
export async function checkLogFolder(dataDir: string): Promise<Check> {
  const names = (await namesIn(join(dataDir, 'wal'))).sort();
  const findings = names.flatMap((id) => {
    const detail = keptFor[id.slice(id.lastIndexOf('.') + 1)];
    return detail === undefined ? [] : [{ id, detail }];
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
  }));
  if (isDamaged) findings.push({ id: 'ledger.json', detail: 'damaged; the server makes a new one' });
  const losses = (await listAcknowledgedLosses(storage)).map(
    ({ rows, partition, recorded }) =>
      `${rows} events of partition ${partition} were recorded as lost at ${recorded}Z`,
  );
  const notes = ledger === undefined && !isDamaged ? ['there is no ledger yet', ...losses] : losses;
  const quarantined = await quarantinedParts(storage);
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
        })),
      quarantined
        .filter(({ partition }) => !isLoss(partition))
        .map(({ name }) => `${name} was set aside by the engine, and no counted event is missing`),
    ),
  ];
}

/** Reads every part of the table of events. */
export async function checkParts(storage: Storage, io: CliIo): Promise<Check> {
  const parts = await activeParts(storage);
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const progress = createProgress(io, { items: 'parts', total });
  const findings: Finding[] = [];
  let done = 0;
  let items = 0;
  try {
    for (const { name, rows, bytes } of parts) {
      const fault = await checkPart(storage, name);
      if (fault !== undefined) findings.push({ id: name, detail: `damaged, with ${rows} events: ${fault}` });
      done += bytes;
      items += 1;
      progress.at(done, items);
    }
  } finally {
    progress.end();
  }
  return check('parts_readable', findings, [counted(parts.length, 'part')]);
}
