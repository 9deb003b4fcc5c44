import { setTimeout as sleep } from 'node:timers/promises';
import { brief, Finding, hold } from '../finding.ts';
import type { World } from '../world.ts';

const triesMax = 20;
const pauseMs = 300;

/**
 * A change that names the number of events it ends: preview, then confirm; again if events came meanwhile.
 * Resolves with the confirmed number; undefined: unknown whether it was made.
 */
export async function confirmed(world: World, args: readonly string[]): Promise<number | undefined> {
  const said = `auditlog ${args.join(' ')}`;
  for (let tries = 0; tries < triesMax; tries++) {
    const disturbances = world.disturbances;
    const preview = (await world.done([...args, '--dry-run'])) as
      | { readonly events?: number; readonly would_remove?: number }
      | undefined;
    if (preview === undefined) return undefined;
    const count = preview.would_remove ?? preview.events ?? 0;
    const { code, stderr } = await world.command([...args, '--confirm', String(count), '--json']);
    if (code === 0) return count;
    if (world.mayFail(disturbances)) return undefined;
    hold(
      /stored events|would be removed/.test(stderr),
      'a command without a fault succeeds',
      () => `${said}: ${brief(stderr)}`,
    );
    await sleep(pauseMs);
  }
  throw new Finding('a command without a fault succeeds', `${said}: other events each time`);
}
