import type { JournalDamage } from '../../control/journal.ts';
import { brokenProjections, damagedParts, detachPart, remakeProjections } from '../../storage/parts.ts';
import { takeOutRemade } from '../../storage/remade-tables.ts';
import { openDirectory, operator, type EngineContext } from '../command-work.ts';
import { type Check, check, type Finding } from './check.ts';
import { repairControl } from './remedies.ts';

const wordsOf = ({ place, detail, organization }: JournalDamage): string =>
  `row ${place} of the journal ${detail}, of ${organization === undefined ? 'any organization' : `the organization ${organization}`}`;

/** Whether the journal is readable, has no gaps, and each row is as written. */
export async function checkControlData(context: EngineContext): Promise<Check> {
  const { storage, config } = context;
  const parts = config.clickhouse.url === undefined ? await damagedParts(storage, 'journal') : [];
  const findings: Finding[] = parts.map(({ name }) => ({
    id: `journal/${name}`,
    detail: 'this part of the journal cannot be read',
    remedy: repairControl,
  }));
  if (parts.length > 0) return check('control_data', findings);
  const damage = (await openDirectory(context)).directory.damage();
  for (const one of damage)
    findings.push({ id: `journal ${one.place}`, detail: wordsOf(one), remedy: repairControl });
  return check('control_data', findings);
}

/**
 * Removes unreadable parts of the journal and of rebuildable tables, rebuilds broken projections, and accepts missing or altered
 * rows of the journal.
 */
export async function repairControlData(context: EngineContext) {
  const { storage } = context;
  const projections = await brokenProjections(storage);
  await remakeProjections(storage, projections);
  const detached = await takeOutRemade(storage);
  const ofJournal = await damagedParts(storage, 'journal');
  for (const part of ofJournal) await detachPart(storage, part);
  if (ofJournal.length > 0)
    detached.set(
      'journal',
      ofJournal.map(({ name }) => name),
    );
  const { directory, change, hand } = await openDirectory(context);
  const accepted = directory.damage();
  await change('acceptDamage', accepted, operator());
  await hand();
  const ofProjections = projections.map(({ table, part, name }) => `${table}/${part}/${name}`);
  const lines = [
    ...ofProjections.map((one) => `the projection ${one} was rebuilt`),
    ...[...detached].map(
      ([table, parts]) => `${table}: part ${parts.join(', ')} was unreadable and was removed`,
    ),
    ...accepted.map((one) => `${wordsOf(one)}: accepted`),
  ];
  if (accepted.length > 0)
    lines.push('check users, keys and holds of these organizations: a missing change may have ended one');
  const text =
    lines.length === 0
      ? 'the journal of control data is complete and the rebuildable tables are readable: nothing was repaired'
      : lines.join('\n');
  const value = {
    tables: [...detached].map(([table, parts_taken_out]) => ({ table, parts_taken_out })),
    projections: ofProjections,
    accepted: accepted.map(({ place, detail, organization = null }) => ({ place, detail, organization })),
  };
  return { value, text };
}
