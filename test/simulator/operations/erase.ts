import { printed } from '../../support/server.ts';
import type { Draw } from '../draw.ts';
import { brief, hold } from '../finding.ts';
import { limits } from '../limits.ts';
import type { ModelOrganization, Person } from '../model.ts';
import { patiently, until } from '../waiting.ts';
import type { Operation, World } from '../world.ts';

/** Erases persons, one at a time or two at once. */

interface Erasure {
  readonly pseudonym: string;
  readonly events: number;
  readonly state: 'counted' | 'begun' | 'finished';
}

const erasedTold = '5016 A person was erased from events';
/** An erasure that another one overtakes has one more; and a server faster than the command records it, too. */
const toldMax = 4;

const argsOf = ({ slug }: ModelOrganization, { email }: Person) => ['erase', '--org', slug, '--email', email];

function noteErased(world: World, person: Person, { pseudonym }: Erasure): void {
  person.pseudonym = pseudonym;
  person.state = 'erased';
  world.erased.push({ text: person.email, fromMs: Date.now() + patiently(limits.graceMs) });
}

/** Counts until it finds every acknowledged event of the person; undefined if a fault keeps some in the log. */
async function count(
  world: World,
  organization: ModelOrganization,
  person: Person,
): Promise<Erasure | undefined> {
  const expected = [...organization.events.values()].filter(
    ({ event, batch }) =>
      batch.state === 'stored' && event.persons.includes(person) && !organization.removed.has(event.id),
  ).length;
  let found: Erasure | undefined;
  const counted = await until(
    'an erasure counts every event of the person',
    () => `${person.email}: ${found?.events}, not ${expected}`,
    async () => {
      found = (await world.done(argsOf(organization, person))) as Erasure | undefined;
      if (found?.events === expected) return { found };
      return world.isDisturbed ? { found: undefined } : undefined;
    },
  );
  return counted.found;
}

async function carryOut(
  world: World,
  organization: ModelOrganization,
  person: Person,
  counted: Erasure,
): Promise<boolean> {
  const disturbances = world.disturbances;
  const answer = await world.command([
    ...argsOf(organization, person),
    '--confirm',
    String(counted.events),
    '--json',
  ]);
  if (answer.code !== 0) {
    organization.own.may(erasedTold, toldMax);
    hold(
      world.mayFail(disturbances) || /held|were confirmed/.test(answer.stderr),
      'a command without a fault succeeds',
      () => `erase ${person.email}: ${brief(answer.stderr)}`,
    );
    return false;
  }
  organization.own.must(erasedTold);
  organization.own.may(erasedTold, toldMax - 1);
  const done = printed(answer) as Erasure;
  if (done.state !== 'finished') return false;
  noteErased(world, person, done);
  return true;
}

/** The service continues an interrupted erasure, or the client begins it again. */
export async function finishErasures(world: World, organization: ModelOrganization): Promise<void> {
  // It waits for a stopped tree.
  if (organization.tampered !== undefined) return;
  for (const person of organization.persons.filter(({ state }) => state === 'erasing')) {
    if (organization.held) continue;
    await until(
      'an erasure ends',
      () => `${person.email} of ${organization.slug}`,
      async () => {
        const counted = (await world.done(argsOf(organization, person))) as Erasure | undefined;
        if (counted === undefined) return undefined;
        if (counted.events === 0) noteErased(world, person, counted);
        else await carryOut(world, organization, person, counted);
        return person.state === 'erased' || undefined;
      },
      limits.operationMsMax,
    );
  }
}

function free(organization: ModelOrganization): readonly Person[] {
  return organization.persons.filter(({ state, pending }) => state === 'here' && pending === 0);
}

/** Two persons of the same event, if there is one; otherwise any. */
function pairOf(organization: ModelOrganization, draw: Draw): readonly Person[] {
  const isFree = (person: Person) => person.state === 'here' && person.pending === 0;
  const shared = [...organization.events.values()].filter(
    ({ event, batch }) =>
      batch.state === 'stored' && event.persons.length === 2 && event.persons.every(isFree),
  );
  const pair = draw.pickAny(shared)?.event.persons;
  return pair ?? free(organization).slice(0, 2);
}

function erasing(
  name: string,
  weight: number,
  personsOf: (organization: ModelOrganization, draw: Draw) => readonly Person[],
): Operation {
  return {
    name,
    weight,
    kind: 'actor',
    run: async (world, draw) => {
      const organization = draw.pickAny(
        world.model.here.filter(({ tampered, persons }) => tampered === undefined && persons.length > 0),
      );
      if (organization === undefined) return undefined;
      return world.alone(`${organization.slug} policy`, async () => {
        if (organization.state !== 'here' || organization.isPolicyUnknown) return undefined;
        const persons = personsOf(organization, draw);
        const [first] = persons;
        if (first === undefined) return undefined;
        if (organization.held) {
          const refused = await world.command([...argsOf(organization, first), '--confirm', '1']);
          hold(
            refused.code !== 0,
            'a hold is kept',
            () => `${first.email} was erased: ${brief(refused.stdout)}`,
          );
          return `${organization.slug}: erasure of ${first.email} refused, as it is held`;
        }
        for (const person of persons) person.state = 'erasing';
        // Recent requests with this person.
        await until(
          'everything ends',
          () => 'requests with a person',
          async () => persons.every(({ pending }) => pending === 0) || world.isDisturbed || undefined,
        );
        const counted = await Promise.all(persons.map((person) => count(world, organization, person)));
        const done = await Promise.all(
          persons.map(async (person, at) => {
            const one = counted[at];
            if (one !== undefined) return carryOut(world, organization, person, one);
            person.state = 'here';
            return false;
          }),
        );
        return `${organization.slug}: erased ${persons.map(({ email }, at) => `${email} (${counted[at]?.events}: ${done[at] ? 'done' : 'nobody knows'})`).join(' and ')}`;
      });
    },
  };
}

export const erasures: readonly Operation[] = [
  erasing('erase a person', 1.5, (organization, draw) => {
    const person = draw.pickAny(free(organization));
    return person === undefined ? [] : [person];
  }),
  erasing('erase two persons at once', 1.5, pairOf),
];
