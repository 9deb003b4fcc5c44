/**
 * The entry of a front end: one process of a server that has several (PROCESSES). Its parent, `processes/supervisor.ts`,
 * starts it, tells it what to do and ends it. It never outlives its parent.
 */
import { DamageRegister } from './base/observability/damage.ts';
import { createLogger } from './base/observability/log.ts';
import { explain } from './cli/program.ts';
import { loadConfig } from './config/config.ts';
import { readEnvironment } from './config/env.ts';
import { startService } from './main.ts';
import { Place } from './processes/place.ts';

const standardOutput = 1;

// However the parent ended: what is acknowledged is in the log, and the next start sends it.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

/** A signal, which a terminal sends to all of a group, and the parent's word: whatever comes first, and only once. */
let stop = (): void => undefined;
const stopped = new Promise<void>((resolve) => {
  stop = resolve;
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);

async function run(): Promise<void> {
  const damage = new DamageRegister();
  const place = await Place.take(process, () => damage.list(), stop);
  const config = loadConfig(readEnvironment());
  const log = createLogger(config.logLevel, place.number);
  const service = await startService(config, { log, accessLogTo: standardOutput }, { place, damage });
  await stopped;
  await service.stop();
}

try {
  await run();
  process.exit(0);
} catch (error) {
  const { lines, code } = explain(error);
  for (const line of lines.split('\n')) process.stderr.write(`auditlog: ${line}\n`);
  process.exit(code);
}
