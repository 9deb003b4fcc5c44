import { doers } from './activities.ts';
import type { Draw } from './draw.ts';
import { listOf, type Profile, type Role } from './profile.ts';
import { makeThing } from './things.ts';

/** A member of a demo organization. */
export interface DemoUser {
  readonly name: string;
  readonly email: string;
  readonly role: Role;
}

export type DemoActor = ReturnType<typeof demoActors>[number];
export type Location = ReturnType<typeof locationOf>;

/** Programs that run round the clock. Their departments are the names of their activities. */
const programs = {
  Frankfurt: `SCIM Bridge, svc-scim, directory; CI Runner, svc-ci, keys; Nightly Backup, svc-backup, backups;
    Scheduler, svc-scheduler, jobs; Notifier, svc-notifier, notices; Policy Engine, svc-policy, policies`,
};
const types = new Map([
  ['member', 'User'],
  ['admin', 'User'],
  ['auditor', 'User'],
  ['guest', 'External user'],
]);
const diligences = new Map([
  ['App/System', 0.8],
  ['External user', 0.15],
]);
const hourMicros = 3_600_000_000;
const browsers = ['Chrome 131 / Windows', 'Safari 18.1 / macOS', 'Firefox 132 / Linux', 'Desktop 4.12.1'];

export const emailOf = (local: string, organization: string): string =>
  local.includes('@') ? local : `${local}@${organization}.example`;

function identitiesOf({ sites, roles, utcOffsetHours }: Profile, organization: string) {
  return Object.entries({ ...sites, ...programs }).flatMap(([city, list], site) =>
    listOf(list).map((entry) => {
      const [name = '', local = '', department = ''] = entry.split(/,\s+/);
      const does = doers.has(department) ? department : (roles[department] ?? 'member');
      const type = types.get(does) ?? 'App/System';
      const email = emailOf(local, organization);
      return { name, email, department, does, type, city, site, utcOffsetHours: utcOffsetHours[city] ?? 0 };
    }),
  );
}

/** The people of a demo organization, in profile order. */
export const demoStaff = (profile: Profile, organization: string): DemoUser[] =>
  identitiesOf(profile, organization)
    .filter(({ type }) => type === 'User')
    .map(({ name, email, does }) => ({ name, email, role: does as Role }));

/** An address that someone works from; `extraJson` has members of `message.extra`. */
export function locationOf(ip: string, city: string, bytesPerSecond: number, facts: object) {
  return { ip, city, bytesPerSecond, extraJson: JSON.stringify(facts).slice(1, -1) };
}

/** People, guests and programs. An address without an id in `ids` gets a random one. */
export function demoActors(
  draw: Draw,
  profile: Profile,
  organization: string,
  ids: ReadonlyMap<string, string>,
) {
  const { network } = profile;
  return identitiesOf(profile, organization).map(({ city, site, ...identity }, index) => {
    const { name, email, type, does } = identity;
    const drawn = draw.uuid();
    const id = ids.get(email) ?? drawn;
    const facts = { client: type === 'App/System' ? `${name}/2.1` : draw.pick(browsers) };
    const office = locationOf(`${network}${site + 1}`, city, draw.integer(60e6, 240e6), facts);
    const homeIp = draw.chance(0.5) ? `${network}${index + 21}` : `2001:db8:${site + 1}0::${draw.hex(4)}`;
    return {
      ...identity,
      id,
      office,
      home: type === 'User' ? locationOf(homeIp, city, draw.integer(3e6, 30e6), facts) : office,
      method: draw.pick(['password', 'password', 'single sign-on', 'passkey']),
      /** Some people do ten times as much as others. */
      diligence: diligences.get(type) ?? (does === 'admin' ? 2 : 0.3) + 2.7 * draw.next() ** 3,
      /** Decides where they are on which day. */
      habit: draw.integer(0, 0xffff_ffff),
      /** JSON text of `message.actor`, cached for all their events. */
      json: JSON.stringify({ id, name, email, type }),
      account: makeThing(id, email, 'user'),
    };
  });
}

/** Day (since 1970), weekday (from Sunday) and hour at someone's site. */
export function localTime({ utcOffsetHours }: DemoActor, micros: number) {
  const hours = Math.floor(micros / hourMicros + utcOffsetHours);
  const day = Math.floor(hours / 24);
  // 1 January 1970 was a Thursday.
  return { day, weekday: (day + 4) % 7, hour: hours - day * 24 };
}

/** Their location on that day: mostly the office, at home at weekends. */
export function whereabouts(actor: DemoActor, micros: number): Location {
  const { day, weekday } = localTime(actor, micros);
  const chance = (Math.imul(actor.habit ^ day, 0x9e37_79b1) >>> 16) % 100;
  return weekday === 0 || weekday === 6 || chance < 32 ? actor.home : actor.office;
}
