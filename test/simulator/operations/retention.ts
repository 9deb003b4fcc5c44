import { limits } from '../limits.ts';
import type { ModelOrganization } from '../model.ts';
import type { Draw } from '../draw.ts';
import type { Operation, World } from '../world.ts';
import { confirmed } from './confirmed.ts';
import { runAndKill } from './killed-command.ts';
import { postEvents } from './post.ts';

/** Retentions and holds. Ages of events are fifty days away from every drawn retention. */

const shortestRetention = 300;
const retentions = [undefined, shortestRetention, 1000] as const;
const oldAges = [250, 350, 650, 1050, 1550];

/** A change of the policy, which may expire events. Until all servers know it either policy may apply. */
async function change(
  world: World,
  organization: ModelOrganization,
  args: readonly string[],
  events: readonly string[],
  note: () => void,
): Promise<string> {
  const { slug } = organization;
  organization.isPolicyUnknown = true;
  const said = `${slug}: org ${args.join(' ')}`;
  const known =
    args[0] === 'hold' ? await world.done(['org', ...args]) : await confirmed(world, ['org', ...args]);
  // The state at rest decides about the others.
  const isSeen = (one: string): boolean => known !== undefined || one.startsWith('5013');
  for (const one of events.filter(isSeen)) organization.own.note(one, known !== undefined);
  // An event of a policy precedes its removals: the server that finds the policy first records it, too.
  organization.own.may(`5013 Retention of ${slug} changed by itself`);
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

export function keepFor(
  world: World,
  organization: ModelOrganization,
  days: number | undefined,
): Promise<string> {
  const { slug } = organization;
  const retention = days === undefined ? 'off' : `${days}d`;
  const events = [
    organization.retention === retention ? [] : `5011 Organization ${slug} changed`,
    organization.days === days ? [] : `5013 Retention of ${slug} changed`,
  ].flat();
  return change(world, organization, ['set', '--org', slug, '--retention', retention], events, () => {
    Object.assign(organization, { days, retention });
  });
}

const setRetention = policyOperation('set a retention', 1.5, (world, organization, draw) =>
  keepFor(world, organization, draw.pick(retentions)),
);

/** Killed before its policy or the policy's event is written: the service may follow the setting by itself. */
const killSetRetention = policyOperation(
  'kill a change of a retention',
  1,
  async (world, organization, draw) => {
    const { slug, own } = organization;
    const days = draw.pick(retentions);
    const args = ['org', 'set', '--org', slug, '--retention', days === undefined ? 'off' : `${days}d`];
    const preview = (await world.done([...args, '--dry-run'])) as
      | { readonly would_remove: number }
      | undefined;
    if (preview === undefined) return undefined;
    organization.isPolicyUnknown = true;
    own.may(`5013 Retention of ${slug} changed`);
    own.may(`5013 Retention of ${slug} changed by itself`, 2);
    const afterMs = draw.chance(0.6) ? undefined : draw.int(500, 2_500);
    const { isKilled } = await runAndKill(
      world,
      [...args, '--confirm', String(preview.would_remove)],
      afterMs,
    );
    return `${args.join(' ')} ${isKilled ? 'killed' : 'was quicker'}`;
  },
);

const placeHold = policyOperation('place a hold', 1, async (world, organization) => {
  if (organization.held) return undefined;
  const { slug } = organization;
  const events = [`5014 Legal hold on ${slug} placed`];
  return change(world, organization, ['hold', '--org', slug, '--reason', 'a case'], events, () => {
    organization.held = true;
  });
});

const releaseHold = policyOperation('release a hold', 1, async (world, organization) => {
  if (!organization.held) return undefined;
  const { slug } = organization;
  const events = [`5015 Legal hold on ${slug} released`];
  return change(world, organization, ['release', '--org', slug, '--reason', 'over'], events, () => {
    organization.held = false;
  });
});

/** Old events within the retention: until all servers know a longer one, the shortest counts. */
const postOld = policyOperation('post old events', 3, async (world, organization, draw) => {
  const days = organization.policyUnsure ? shortestRetention : organization.days;
  const isTaken = (age: number) => days === undefined || age + world.service.aheadDays < days;
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

export const policies: readonly Operation[] = [
  setRetention,
  killSetRetention,
  placeHold,
  releaseHold,
  postOld,
];
