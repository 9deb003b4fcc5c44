import { eventCases } from './event-cases.ts';
import { logCases } from './log-cases.ts';
import { type MicroCase, type MicroPlan, measureMicro } from './measure.ts';
import { readerCases } from './reader-case.ts';
import { requestCases } from './request-cases.ts';

/** One micro bench in its own process: `child.js ID PLAN`; prints its result as JSON. */
const [id = '', plan = ''] = process.argv.slice(2);
const all: Readonly<Record<string, () => MicroCase | Promise<MicroCase>>> = {
  ...eventCases,
  ...logCases,
  ...requestCases,
  ...readerCases,
};
const make = all[id];
if (make === undefined) throw new Error(`there is no micro bench ${id}`);
const result = await measureMicro(id, await make(), JSON.parse(plan) as MicroPlan);
process.stdout.write(`${JSON.stringify(result)}\n`);
// Timers of the measured code must not keep the process alive.
process.exit(0);
