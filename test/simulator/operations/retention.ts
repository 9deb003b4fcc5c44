import { limits } from '../limits.ts';
import type { ModelOrganization } from '../model.ts';
import type { Draw } from '../draw.ts';
import type { Operation, World } from '../world.ts';
import { confirmed } from './confirmed.ts';
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
  const known =
    args[0] === 'hold' ? await world.done(['org', ...args]) : await confirmed(world, ['org', ...args]);
  if (known === undefined) return `${said}: nobody knows`;
  note();
  organization.policyBegins();
  return `${said}${typeof known === 'number' ? ` --confirm ${known}` : ''}`;
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
  const args = ['set', '--org', organization.slug, '--retention', days === undefined ? 'off' : `${days}d`];
  return change(world, organization, args, () => {
    organization.days = days;
  });
});

const placeHold = policyOperation('place a hold', 1, async (world, organization) => {
  if (organization.held) return undefined;
  return change(world, organization, ['hold', '--org', organization.slug, '--reason', 'a case'], () => {
    organization.held = true;
  });
});

const releaseHold = policyOperation('release a hold', 1, async (world, organization) => {
  if (!organization.held) return undefined;
  return change(world, organization, ['release', '--org', organization.slug, '--reason', 'over'], () => {
    organization.held = false;
  });
});

const setReceipts = policyOperation('switch receipts', 0.5, async (world, organization, draw) => {
  const receipts = draw.pick(['own', 'off'] as const);
  const { slug } = organization;
  organization.isPolicyUnknown = true;
  if ((await world.done(['org', 'set', '--org', slug, '--receipts', receipts])) === undefined)
    return `${slug}: nobody knows`;
  organization.receipts = receipts;
  organization.policyBegins();
  return `${slug}: receipts ${receipts}`;
});

/** Old events, as far as the retention takes them at all. */
const postOld = policyOperation('post old events', 3, async (world, organization, draw) => {
  const isTaken = (age: number) =>
    organization.days === undefined || age + world.service.aheadDays < organization.days;
  const ages = oldAges.filter(isTaken);
  if (ages.length === 0 || world.model.events > limits.eventsOfRunMax || !organization.writes)
    return undefined;
  const { batch, status } = await postEvents(world, organization, draw, {
    kinds: ['plain'],
    count: draw.int(1, 30),
    ages,
  });
  return `${organization.slug}: request ${batch.number}, ${batch.events.length} old events: ${status ?? 'no answer'}`;
});

export const policies: readonly Operation[] = [setRetention, placeHold, releaseHold, setReceipts, postOld];
