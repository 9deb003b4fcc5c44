import { setTimeout as sleep } from 'node:timers/promises';
import { brief, hold } from '../finding.ts';
import { limits } from '../limits.ts';
import type { ModelOrganization } from '../model.ts';
import type { Draw } from '../draw.ts';
import type { Operation, World } from '../world.ts';
import { postEvents } from './post.ts';

/** What is kept how long, and what is held. Ages of events lie fifty days beside all retentions that are drawn. */

const retentions = [undefined, 300, 1000] as const;
const oldAges = [250, 350, 650, 1050, 1550];

/** A change of an organization's policy, which may end events. Until it is known everywhere either may be shown. */
async function change(
  world: World,
  organization: ModelOrganization,
  args: readonly string[],
  note: () => void,
): Promise<string> {
  const { slug } = organization;
  organization.isPolicyUnknown = true;
  const said = `${slug}: org ${args.join(' ')}`;
  for (let tries = 0; tries < 20; tries++) {
    const disturbances = world.disturbances;
    const isEnding = args[0] !== 'hold';
    const row = isEnding
      ? ((await world.done(['org', ...args, '--dry-run'])) as { would_remove: number } | undefined)
      : { would_remove: 0 };
    if (row === undefined) return `${said}: nobody knows`;
    const confirm = isEnding ? ['--confirm', String(row.would_remove)] : [];
    const answer = await world.command(['org', ...args, ...confirm, '--json']);
    if (answer.code === 0) {
      organization.policyKnownAtMs = Date.now() + limits.graceMs;
      note();
      organization.noteExpired();
      organization.isPolicyUnknown = false;
      return `${said} ${confirm.join(' ')}`;
    }
    if (world.isDisturbed || world.disturbances !== disturbances) return `${said}: nobody knows`;
    // Events came meanwhile: another number.
    hold(
      /stored events|would be removed/.test(answer.stderr),
      'a command without a fault succeeds',
      () => `${said}: ${brief(answer.stderr)}`,
    );
    await sleep(300);
  }
  hold(false, 'a command without a fault succeeds', () => said);
  return said;
}

function policyOperation(
  name: string,
  weight: number,
  run: (world: World, organization: ModelOrganization, draw: Draw) => Promise<string | undefined>,
): Operation {
  return {
    name,
    weight,
    kind: 'actor',
    run: async (world, draw) => {
      const organization = draw.pickAny(world.model.here);
      if (organization === undefined) return undefined;
      return world.alone(`${organization.slug} policy`, async () => {
        if (organization.state !== 'here' || organization.isPolicyUnknown) return undefined;
        return run(world, organization, draw);
      });
    },
  };
}

const setRetention = policyOperation('set a retention', 1.5, (world, organization, draw) => {
  const days = draw.pick(retentions);
  const args = ['set', organization.slug, '--retention', days === undefined ? 'off' : `${days}d`];
  return change(world, organization, args, () => {
    organization.days = days;
  });
});

const placeHold = policyOperation('place a hold', 1, async (world, organization) => {
  if (organization.held) return undefined;
  return change(world, organization, ['hold', organization.slug, '--reason', 'a case'], () => {
    organization.held = true;
  });
});

const releaseHold = policyOperation('release a hold', 1, async (world, organization) => {
  if (!organization.held) return undefined;
  return change(world, organization, ['release', organization.slug, '--reason', 'over'], () => {
    organization.held = false;
  });
});

/** Old events, as far as the retention takes them at all. */
const postOld = policyOperation('post old events', 3, async (world, organization, draw) => {
  const isTaken = (age: number) =>
    organization.days === undefined || age + world.service.aheadDays < organization.days;
  const ages = oldAges.filter(isTaken);
  if (ages.length === 0 || world.model.events > limits.eventsOfRunMax || organization.goodKeys.length === 0)
    return undefined;
  const { batch, status } = await postEvents(world, organization, draw, {
    kinds: ['plain'],
    count: draw.int(1, 30),
    ages,
  });
  return `${organization.slug}: request ${batch.number}, ${batch.events.length} old events: ${status ?? 'no answer'}`;
});

export const policies: readonly Operation[] = [setRetention, placeHold, releaseHold, postOld];
