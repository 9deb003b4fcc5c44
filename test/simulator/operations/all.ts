import { clocks } from '../faults/clock.ts';
import { damages } from '../faults/damage.ts';
import { kills } from '../faults/kills.ts';
import { tamperings } from '../faults/tamper.ts';
import type { Operation } from '../world.ts';
import { operationByName, register } from './by-name.ts';
import { changes } from './changes.ts';
import { controls } from './control.ts';
import { erasures } from './erase.ts';
import { transfers } from './import.ts';
import { posts } from './post.ts';
import { reads } from './read.ts';
import { repeats } from './repeat.ts';
import { evidenceKeys } from './rotate-evidence-key.ts';
import { policies } from './retention.ts';

/** Everything that a run can do, by name. */
export const operations: readonly Operation[] = [
  ...posts,
  ...repeats,
  ...reads,
  ...controls,
  ...policies,
  ...erasures,
  ...changes,
  ...transfers,
  ...evidenceKeys,
  ...kills,
  ...clocks,
  ...damages,
  ...tamperings,
];

register(operations);

export const operationOf = operationByName;
