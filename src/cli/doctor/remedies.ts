import { projectFile } from '../../base/files/project-file.ts';
import { fateOfRows } from '../../storage/remade-tables.ts';
import type { Finding } from './check.ts';

export const restoreBackup = `restore a backup (${projectFile('docs/back-up.md')})`;

export const repairControl = `${restoreBackup}; or "auditlog doctor --repair" keeps the remaining data; then check users, keys and holds`;

function partRemedy(table: string, part: string): string {
  if (table === 'events')
    return `${restoreBackup}, or remove it with "auditlog doctor --detach ${part}", which loses its events`;
  if (table === 'journal') return repairControl;
  const fate = fateOfRows(table);
  if (table.startsWith('evidence_'))
    return `${restoreBackup}; "auditlog verify --copy" still verifies a copy of the trees`;
  return fate === undefined ? restoreBackup : `"auditlog doctor --repair" removes it: ${fate}`;
}

/** `table`: undefined if the engine does not name it. */
export function damagedPart(table: string | undefined, part: string, detail: string): Finding {
  if (table === undefined)
    return { id: part, detail, remedy: '"auditlog doctor" without --quick finds its table' };
  return { id: table === 'events' ? part : `${table}/${part}`, detail, remedy: partRemedy(table, part) };
}
