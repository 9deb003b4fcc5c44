import { readdirSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Draw } from '../draw.ts';
import { hold } from '../finding.ts';
import { operationByName } from '../operations/by-name.ts';
import type { Operation, World } from '../world.ts';

/** Files of control data that are harmed while nothing runs: what was ended stays ended, and the service says what happened. */

const tables = ['api_keys', 'users', 'retention_policies', 'organizations'] as const;
/** A change right before, so that the newest part is the one that ends something. */
const before: Readonly<Record<(typeof tables)[number], string>> = {
  api_keys: 'revoke a key',
  users: 'disable a user',
  retention_policies: 'place a hold',
  organizations: 'make a key',
};

async function flipByte(path: string, share: number): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const at = Math.floor((await file.stat()).size * share);
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, at);
    await file.write(Buffer.from([(byte[0] ?? 0) ^ 0x10]), 0, 1, at);
  } finally {
    await file.close();
  }
}

async function harm(part: string, draw: Draw): Promise<string> {
  if (draw.chance(0.6)) {
    rmSync(part, { recursive: true });
    return 'removed';
  }
  const data = readdirSync(part).filter(
    (name) => name.endsWith('.bin') && statSync(join(part, name)).size > 0,
  );
  const file = join(part, draw.pick(data));
  await flipByte(file, draw.next());
  return 'one bit flipped';
}

/** Whether it says so anywhere: in `/readyz`, or in a line of the log that is a warning. */
export async function isTold(world: World): Promise<boolean> {
  if ((await world.service.damage()).length > 0) return true;
  const { stderrLines } = await world.service.up();
  return stderrLines().some(
    (line) =>
      /"level":(40|50|60|"warn"|"error")/.test(line) &&
      /damage|missing|lost|broken|older|put back|copy|control/i.test(line),
  );
}

export const damages: readonly Operation[] = [
  {
    name: 'harm control data while stopped',
    weight: 0.8,
    kind: 'alone',
    run: async (world, draw) => {
      const table = draw.pick(tables);
      await operationByName(before[table]).run(world, draw);
      const found = await world.service.ask(
        `SELECT path FROM system.parts WHERE database = 'audit' AND table = '${table}' AND active AND rows > 0 ORDER BY modification_time DESC, max_block_number DESC`,
      );
      const parts = found.split('\n').filter((line) => line !== '');
      const newest = parts[0];
      if (newest === undefined) return undefined;
      if (draw.chance(0.5)) await world.service.kill();
      else await world.service.stop();
      const done = await harm(newest, draw);
      world.isDamaged = true;
      world.expect(/damage|missing|lost|broken|older|put back|copy|control|part|checksum/i);
      await world.service.start();
      hold(
        await isTold(world),
        'what is lost is told',
        () => `the newest part of ${table}: ${done}; neither /readyz nor the log says so`,
      );
      return `the newest part of ${table}: ${done}`;
    },
  },
];
