import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeEvent } from '../events.ts';
import { hold } from '../finding.ts';
import { limits } from '../limits.ts';
import { Batch } from '../batch.ts';
import type { Operation } from '../world.ts';
import { anyKeyCreated } from './control.ts';
import { runAndKill } from './killed-command.ts';
import { anyWriter } from './post.ts';

/** Killed and repeated imports: nothing is lost or stored twice. */

const triesMax = 4;
/** An import's own key is valid for 30 days by the import's clock, which differs from the service's. */
const clockAheadMsMax = 29 * 86_400_000;

const importFile: Operation = {
  name: 'import a file, with kills',
  weight: 1.5,
  kind: 'actor',
  run: async (world, draw) => {
    const organization = anyWriter(world, draw);
    if (organization === undefined || world.isDisturbed || world.model.events > limits.eventsOfRunMax)
      return undefined;
    if (world.service.settings.clockAheadMs > clockAheadMsMax) return undefined;
    const number = world.model.nextBatch();
    const { beganMicros } = world.model;
    const events = Array.from({ length: draw.int(50, 3000) }, (_, index) =>
      makeEvent(draw, 'plain', { organization, batch: number, index, beganMicros, ageDays: 50 }),
    );
    const file = join(world.directory, `import-${number}.ndjson`);
    writeFileSync(file, events.map(({ text }) => text).join('\n'));
    const batch = new Batch({
      number,
      events,
      headers: {},
      body: Buffer.alloc(0),
      idempotencyKey: undefined,
    });
    batch.isWhole = false;
    world.model.events += events.length;
    organization.add(batch);
    const kills: string[] = [];
    for (let tries = 0; tries < triesMax; tries++) {
      // Its key, unless an earlier run made one.
      organization.own.may(anyKeyCreated);
      const isLast = tries === triesMax - 1;
      const afterMs = isLast ? limits.commandMsMax : draw.int(200, 4000);
      const { code, isKilled, words } = await runAndKill(
        world,
        ['import', file, '--org', organization.slug],
        afterMs,
      );
      hold(code === 0 || isKilled, 'a command without a fault succeeds', () => `import: ${code}: ${words}`);
      if (code === 0) {
        batch.end('stored');
        return `${organization.slug}: ${events.length} events imported as ${number}, killed ${kills.join(', ') || 'never'}`;
      }
      kills.push(`after ${afterMs} ms`);
    }
    return `${organization.slug}: the import ${number} of ${events.length} events did not end`;
  },
};

export const imports: readonly Operation[] = [importFile];
