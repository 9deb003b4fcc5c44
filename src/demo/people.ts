import type { Doer } from './activities.ts';
import type { Draw } from './draw.ts';
import type { Profile, Role } from './profile.ts';
import { type DemoThing, makeThing } from './things.ts';

/** Someone of a demo organization. */
export interface DemoUser {
  readonly name: string;
  readonly email: string;
  readonly role: Role;
}

/** Where someone sits, and with what. */
export interface Place {
  readonly ip: string;
  readonly city: string;
  readonly bytesPerSecond: number;
  /** JSON members of `message.extra` that tell of it, without braces. */
  readonly extraJson: string;
}

/** Someone who does things, with what follows them around. */
export interface DemoActor extends Omit<DemoUser, 'role'> {
  readonly id: string;
  readonly type: 'User' | 'App/System' | 'External user';
  readonly does: Doer;
  readonly department: string;
  readonly utcOffsetHours: number;
  /** How they sign in. */
  readonly method: string;
  /** Some people do ten times what others do. */
  readonly diligence: number;
  readonly office: Place;
  readonly home: Place;
  /** On the road: a mobile line. */
  readonly road: Place;
  /** Tells which days they spend where. */
  readonly habit: number;
  /** JSON text of `message.actor`, made once: it is in every event of theirs. */
  readonly json: string;
  /** Their account, as events are about it. */
  readonly account: DemoThing;
}

/** Programs, and the hundreds of activity codes that are theirs. */
const services: readonly (readonly [name: string, local: string, hundreds: readonly number[]])[] = [
  ['SCIM Bridge', 'svc-scim', [12]],
  ['CI Runner', 'svc-ci', [13]],
  ['Nightly Backup', 'svc-backup', [21]],
  ['Billing', 'svc-billing', [30]],
  ['Scheduler', 'svc-scheduler', [40]],
  ['Notifier', 'svc-notifier', [50]],
  ['Policy Engine', 'svc-policy', [60, 64]],
  ['Agent Registry', 'svc-agents', [66]],
];
const hourMicros = 3_600_000_000;
const browsers = ['Chrome 131 / Windows', 'Safari 18.1 / macOS', 'Firefox 132 / Linux', 'Desktop 4.12.1'];

export const emailOf = (local: string, organization: string): string => `${local}@${organization}.example`;

/** The people of a demo organization, in the order of its profile. */
export function demoStaff(profile: Profile, organization: string): DemoUser[] {
  return Object.values(profile.sites).flatMap(({ people }) =>
    people.map(([name, local, department]) => ({
      name,
      email: emailOf(local, organization),
      role: profile.roles[department] ?? 'member',
    })),
  );
}

export function placeOf(ip: string, city: string, bytesPerSecond: number, facts: object): Place {
  return { ip, city, bytesPerSecond, extraJson: JSON.stringify(facts).slice(1, -1) };
}

type Identity = Pick<DemoActor, 'id' | 'name' | 'email' | 'type' | 'does' | 'department' | 'utcOffsetHours'>;

function actorOf(
  draw: Draw,
  identity: Identity,
  places: Pick<DemoActor, 'office' | 'home' | 'road'>,
): DemoActor {
  const { id, name, email, type } = identity;
  return {
    ...identity,
    ...places,
    method: draw.pick(['password', 'password', 'single sign-on', 'passkey']),
    diligence: (identity.does === 'admin' ? 2 : 0.3) + 2.7 * draw.next() ** 3,
    habit: draw.integer(0, 0xffff_ffff),
    json: JSON.stringify({ id, name, email, type }),
    account: makeThing(id, email, 'user'),
  };
}

/** The people of a company with their ids; those that `ids` (by e-mail address) does not have get one. */
export function staffActors(
  draw: Draw,
  profile: Profile,
  organization: string,
  ids: ReadonlyMap<string, string>,
): DemoActor[] {
  let homes = 20;
  return Object.entries(profile.sites).flatMap(([city, { utcOffsetHours, people }], site) =>
    people.map(([name, local, department]) => {
      const email = emailOf(local, organization);
      const drawn = draw.uuid();
      const type = 'User';
      const does = profile.roles[department] ?? 'member';
      const id = ids.get(email) ?? drawn;
      const facts = { client: draw.pick(browsers) };
      homes += 1;
      const v6 = `2001:db8:${site + 1}0:${draw.hex(3)}::${draw.hex(4)}`;
      const home = draw.chance(0.5) ? `${profile.network}${homes}` : v6;
      const homeLine = draw.integer(3_000_000, 30_000_000);
      return actorOf(
        draw,
        { id, name, email, type, does, department, utcOffsetHours },
        {
          office: placeOf(`${profile.network}${site + 1}`, city, draw.integer(60e6, 240e6), facts),
          home: placeOf(home, city, homeLine, facts),
          road: placeOf(`2001:db8:f0:${draw.hex(4)}::${draw.hex(4)}`, city, draw.integer(1e6, 8e6), facts),
        },
      );
    }),
  );
}

/** Programs that work round the clock, by the hundreds of the codes that are theirs. */
export function serviceActors(
  draw: Draw,
  profile: Profile,
  organization: string,
): ReadonlyMap<number, DemoActor> {
  const byHundreds = new Map<number, DemoActor>();
  for (const [index, [name, local, hundreds]] of services.entries()) {
    const facts = { client: `${local}/2.${draw.integer(0, 9)}` };
    const place = placeOf(`${profile.network}${240 + index}`, 'Frankfurt', 200e6, facts);
    const identity = { id: `app_${draw.hex(12)}`, name, email: emailOf(local, organization) };
    const actor = actorOf(
      draw,
      { ...identity, type: 'App/System', does: 'service', department: 'Platform', utcOffsetHours: 0 },
      { office: place, home: place, road: place },
    );
    for (const hundred of hundreds) byHundreds.set(hundred, actor);
  }
  return byHundreds;
}

/** People of other companies who were given something. */
export function guestActors(draw: Draw, profile: Profile): DemoActor[] {
  return profile.guests.map(([name, email], index) => {
    const facts = { client: draw.pick(browsers) };
    const place = placeOf(`192.0.2.${index + 10}`, 'unknown', draw.integer(2e6, 20e6), facts);
    const identity = { id: `guest_${draw.hex(10)}`, name, email, utcOffsetHours: 0, department: 'Guest' };
    return actorOf(
      draw,
      { ...identity, type: 'External user', does: 'guest' },
      { office: place, home: place, road: place },
    );
  });
}

/** Day (since 1970), weekday (from Sunday) and hour on the clock of someone's site. */
export function localTime(
  { utcOffsetHours }: DemoActor,
  micros: number,
): { day: number; weekday: number; hour: number } {
  const hours = Math.floor(micros / hourMicros + utcOffsetHours);
  const day = Math.floor(hours / 24);
  // The first of January 1970 was a Thursday.
  return { day, weekday: (day + 4) % 7, hour: hours - day * 24 };
}

/** Where they are on that day of theirs, all day long: mostly in the office, at home at weekends. */
export function whereabouts(actor: DemoActor, micros: number): Place {
  const { day, weekday } = localTime(actor, micros);
  const chance = (Math.imul(actor.habit ^ day, 0x9e37_79b1) >>> 16) % 100;
  if (chance < 6) return actor.road;
  return weekday === 0 || weekday === 6 || chance < 32 ? actor.home : actor.office;
}
