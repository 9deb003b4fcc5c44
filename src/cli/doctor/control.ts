import { ControlCopy } from '../../storage/control-copy.ts';
import { compareControlData, type ControlDifference, mendControlData } from '../../storage/control-mend.ts';
import { mendedWords } from '../../storage/control-watch.ts';
import type { Storage } from '../../storage/storage.ts';
import { brokenProjections, remakeProjections } from '../../storage/parts.ts';
import { takeOutRemade } from '../../storage/remade-tables.ts';
import { type Check, check, type Finding } from './check.ts';
import { repairControl } from './remedies.ts';

function findingOf({ table, lost, badParts }: ControlDifference): Finding[] {
  const parts = badParts.map(({ name }) => name).join(', ');
  if (badParts.length > 0)
    return [{ id: table, detail: `part ${parts} cannot be read`, remedy: repairControl }];
  if (lost.length === 0) return [];
  return [
    {
      id: table,
      detail: `${lost.length} rows are missing, or older than in the copy`,
      remedy: repairControl,
    },
  ];
}

/** Holds the control data of the embedded engine against its copy. */
export async function checkControlData(storage: Storage, dataDir: string): Promise<Check> {
  const copy = new ControlCopy(dataDir);
  const { differences, content } = await compareControlData({ storage, copy });
  const findings = differences.flatMap(findingOf);
  const { isThere, damagedLines } = content;
  if (damagedLines > 0)
    findings.push({
      id: 'control-data.log',
      detail: `${damagedLines} lines of this copy of the control data are damaged`,
      remedy: '"auditlog doctor --repair", or the next start of the server, makes it anew',
    });
  const isEmpty = differences.every(({ newer }) => newer.length === 0);
  const notes = isThere || isEmpty ? [] : ['there is no copy yet: the next start of the server makes it'];
  return check('control_data', findings, notes);
}

/**
 * Puts back what control tables have lost, and takes out what cannot be read of them, whatever the copy has; also of
 * tables that processes make anew. Makes broken projections anew.
 */
export async function repairControlData(storage: Storage, dataDir: string) {
  const projections = await brokenProjections(storage);
  await remakeProjections(storage, projections);
  const remade = await takeOutRemade(storage);
  const mended = await mendControlData({ storage, copy: new ControlCopy(dataDir) }, true);
  const ofControl = mended.tables.map(({ table, putBack, takenOut, unmended }) => ({
    table,
    put_back: putBack,
    parts_taken_out: [...takenOut],
    error: unmended ?? null,
  }));
  const ofRemade = [...remade].map(([table, parts]) => ({
    table,
    put_back: 0,
    parts_taken_out: parts,
    error: null,
  }));
  const healthy = mended.tables.every(({ unmended }) => unmended === undefined);
  const ofProjections = projections.map(({ table, part, name }) => `${table}/${part}/${name}`);
  const lines = ofProjections.map((one) => `the projection ${one} was made anew`);
  lines.push(...mended.tables.map((one) => `${one.table}: ${mendedWords(one)}`));
  for (const [table, parts] of remade)
    lines.push(`${table}: part ${parts.join(', ')} could not be read and was taken out`);
  if (mended.copy !== undefined) lines.push(`control-data.log: ${mended.copy}; it is made anew`);
  const text =
    lines.length === 0
      ? 'the control data is as its copy, and the tables that the service makes anew can be read: nothing was repaired'
      : lines.join('\n');
  const value = {
    healthy,
    tables: [...ofControl, ...ofRemade],
    projections: ofProjections,
    copy: mended.copy ?? null,
  };
  return { value, text };
}
