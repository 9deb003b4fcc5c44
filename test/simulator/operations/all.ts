import { clocks } from '../faults/clock.ts';
import { damages } from '../faults/damage.ts';
import { disks } from '../faults/disk.ts';
import { logFiles } from '../faults/log-files.ts';
import { kills } from '../faults/kills.ts';
import { tamperings } from '../faults/tamper.ts';
import type { Operation } from '../world.ts';
import { backups } from './backup.ts';
import { operationByName, register } from './by-name.ts';
import { changes } from './changes.ts';
import { controls } from './control.ts';
import { erasures } from './erase.ts';
import { imports } from './import.ts';
import { posts } from './post.ts';
import { reads } from './read.ts';
import { repeats } from './repeat.ts';
import { evidenceKeys } from './rotate-evidence-key.ts';
import { policies } from './retention.ts';

/** All operations by name. */
export const operations: readonly Operation[] = [
  ...posts,
  ...repeats,
  ...reads,
  ...controls,
  ...policies,
  ...erasures,
  ...changes,
  ...imports,
  ...backups,
  ...evidenceKeys,
  ...kills,
  ...clocks,
  ...damages,
  ...disks,
  ...logFiles,
  ...tamperings,
];

register(operations);

export const operationOf = operationByName;
