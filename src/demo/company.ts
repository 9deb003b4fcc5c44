import {
  consequences,
  type DemoActivity,
  type Doer,
  demoActivities,
  demoTransfers,
  type DemoTransfer,
  type Target,
} from './activities.ts';
import { type Draw, weighted } from './draw.ts';
import { type Details, type Doing, durationText, type Happening, happening, sizeText } from './happening.ts';
import { limits } from './limits.ts';
import { type Moved, movedOf, playedOf } from './moved.ts';
import { type DemoActor, guestActors, localTime, serviceActors, staffActors, whereabouts } from './people.ts';
import type { Profile } from './profile.ts';
import { type DemoFile, type DemoThing, DemoThings, makeThing } from './things.ts';

/** Someone does nothing but what a story tells, from then until then (Unix microseconds). */
export interface Absence {
  readonly email: string;
  readonly from: number;
  readonly until: number;
}

interface CompanyOptions {
  /** Slug of the organization, if it is not that of the profile. */
  readonly organization?: string;
  /** Ids of people by e-mail address; others get one. */
  readonly ids?: ReadonlyMap<string, string>;
  readonly absences?: readonly Absence[];
  /** How much later than they are made events are to have happened, microseconds. */
  readonly laterMicros?: number;
}

const hourMicros = 3_600_000_000;
/** Events of a visit, about; and how busy programs are, in the measure of people who all work. */
const visitEvents = 8;
const programsForEach = 0.4;
const guestDiligence = 0.12;
const refusals = [
  [408, 'Timed out', 'no data for 60 s'],
  [499, 'Cancelled', 'the client closed the connection'],
  [507, 'No room', 'the quota is used up'],
] as const;

type Choice = DemoActivity | DemoTransfer;

/** What each kind of doer does, by weight. Administrators and auditors are members, too. */
function repertoires(profile: Profile): ReadonlyMap<Doer, (draw: Draw) => Choice> {
  const of = (by: Doer): DemoActivity[] => [...demoActivities.values()].filter((one) => one.by === by);
  const everyday: readonly Choice[] = [...of('member'), ...demoTransfers];
  const weight = (one: Choice): number => ('kind' in one ? profile.transfers[one.kind] : one.weight);
  // Their own activities are a third of what administrators do, and seldom those of auditors.
  const own = (by: Doer, share: number) =>
    weighted([...everyday, ...of(by)], (one) => weight(one) * ('by' in one && one.by === by ? share : 1));
  return new Map([
    ['member', weighted(everyday, weight)],
    ['admin', own('admin', 6)],
    ['auditor', own('auditor', 6)],
    ['guest', weighted(of('guest'), weight)],
    ['service', weighted(of('service'), weight)],
  ]);
}

/** Whom and what the events of one organization are about. Repeatable for the same arguments. */
export class Company {
  readonly draw: Draw;
  readonly organization: string;
  readonly things: DemoThings;
  readonly people: readonly DemoActor[];
  readonly services: ReadonlyMap<number, DemoActor>;
  readonly #profile: Profile;
  readonly #owner: DemoThing;
  readonly #programs: number;
  readonly #guests: readonly DemoActor[];
  readonly #absences: readonly Absence[];
  readonly #laterMicros: number;
  readonly #signedInOn = new Map<DemoActor, number>();
  readonly #choose: ReturnType<typeof repertoires>;
  #present: { hour: number; working: number; pick: (draw: Draw) => DemoActor } | undefined;

  constructor(draw: Draw, profile: Profile, options: CompanyOptions = {}) {
    const { organization = profile.slug, ids = new Map(), absences = [], laterMicros = 0 } = options;
    this.draw = draw;
    this.organization = organization;
    this.#profile = profile;
    this.#absences = absences;
    this.#laterMicros = laterMicros;
    this.people = staffActors(draw, profile, organization, ids);
    this.#programs = this.people.length * programsForEach;
    this.services = serviceActors(draw, profile, organization);
    this.#guests = guestActors(draw, profile);
    this.things = new DemoThings(draw, profile);
    this.#owner = makeThing(draw.uuid(), organization, 'organization');
    this.#choose = repertoires(profile);
  }

  /** How many events the hour that begins then has; only the proportion of hours matters. */
  bustle(hour: number): number {
    return this.#atWork(hour).working * visitEvents + this.#programs;
  }

  /** What someone does who comes in that hour, a program or a person; it may end later. */
  happen(hour: number): Happening[] {
    const { draw } = this;
    const micros = hour + Math.floor(draw.next() * hourMicros);
    const { working, pick } = this.#atWork(hour);
    if (draw.next() * (working + this.#programs) < working) return this.#visit(pick(draw), micros);
    const choice = this.#pick('service');
    if ('kind' in choice) throw new Error('programs transfer nothing');
    return this.#single(choice, this.doing(this.#serviceOf(choice.code), micros), micros);
  }

  event(micros: number, by: Doing, details: Details): Happening {
    const { line } = happening(this.draw, this.organization, micros + this.#laterMicros, by, details);
    return { micros, line };
  }

  /** Someone at the place where they are that day. */
  doing(actor: DemoActor, micros: number): Doing {
    return { actor, place: whereabouts(actor, micros), port: this.draw.integer(32_768, 60_999) };
  }

  #pick(doer: Doer): Choice {
    const choose = this.#choose.get(doer);
    if (choose === undefined) throw new Error(`nothing to do for ${doer}`);
    return choose(this.draw);
  }

  #serviceOf(code: number): DemoActor {
    const service = this.services.get(Math.floor(code / 100));
    if (service === undefined) throw new Error(`no program does ${code}`);
    return service;
  }

  #away({ email }: DemoActor, micros: number): boolean {
    return this.#absences.some((one) => one.email === email && one.from <= micros && micros < one.until);
  }

  /** How likely someone is to be working. */
  #presence(actor: DemoActor, micros: number): number {
    if (this.#away(actor, micros)) return 0;
    const { hour, weekday } = localTime(actor, micros);
    const { hours, week } = this.#profile;
    return ((hours[hour] ?? 0) / 100) * (week[weekday] ?? 0) * actor.diligence;
  }

  #atWork(hour: number) {
    if (this.#present?.hour === hour) return this.#present;
    const everyone = [...this.people, ...this.#guests];
    const presence = (one: DemoActor): number =>
      this.#presence(one, hour) * (one.does === 'guest' ? guestDiligence : 1);
    const working = everyone.reduce((sum, one) => sum + presence(one), 0);
    this.#present = { hour, working, pick: weighted(everyone, presence) };
    return this.#present;
  }

  /** Someone signs in, does one thing after the other within minutes, and perhaps signs out. */
  #visit(actor: DemoActor, micros: number): Happening[] {
    const { draw } = this;
    const events: Happening[] = [];
    let at = micros;
    const pass = (seconds: number): void => {
      at += Math.floor((0.5 + draw.next() * seconds) * 1e6);
    };
    if (this.#mustSignIn(actor, at) || draw.chance(0.35)) {
      const login = this.#login(this.doing(actor, at), at);
      events.push(...login.steps);
      if (!login.good) return events;
      at = login.steps.at(-1)?.micros ?? at;
    }
    for (let left = draw.integer(1, 8); left > 0; left -= 1) {
      pass(draw.chance(0.15) ? 240 : 40);
      const choice = this.#pick(actor.does);
      const by = this.doing(actor, at);
      events.push(...('kind' in choice ? this.#transfer(choice, by, at) : this.#single(choice, by, at)));
    }
    if (draw.chance(0.12)) {
      pass(60);
      const message = `${actor.name} signed out`;
      events.push(this.event(at, this.doing(actor, at), { code: 1003, target: actor.account, message }));
    }
    return events;
  }

  /** The first time on a day of theirs. */
  #mustSignIn(actor: DemoActor, micros: number): boolean {
    const { day } = localTime(actor, micros);
    if (this.#signedInOn.get(actor) === day) return false;
    this.#signedInOn.set(actor, day);
    return true;
  }

  /** Perhaps a wrong password first, then MFA, then success; sometimes only failures. */
  #login(doing: Doing, micros: number): { steps: Happening[]; good: boolean } {
    const { draw } = this;
    const { actor, place } = doing;
    const by = { ...doing, flow: draw.uuid() };
    const target = actor.account;
    const extraJson = `"method":"${actor.method}","city":"${place.city}","department":"${actor.department}"`;
    const steps: Happening[] = [];
    let at = micros;
    const step = (code: number, message: string): void => {
      steps.push(this.event(at, by, { code, target, message, extraJson }));
      at += draw.integer(2, 30) * 1_000_000 + draw.integer(0, 999_999);
    };
    const wrong = actor.method === 'password' && draw.chance(0.18) ? draw.integer(1, 3) : 0;
    for (let tries = 1; tries <= wrong; tries += 1)
      step(1002, `${actor.name} mistyped the password, try ${tries}`);
    if (wrong === 3) return { steps, good: false };
    if (actor.method === 'password') {
      if (draw.chance(0.05)) step(1102, `The code of ${actor.name} did not match`);
      step(1101, `${actor.name} entered a code of the authenticator app`);
    }
    step(1001, `${actor.name} signed in by ${actor.method} from ${place.city}`);
    return { steps, good: true };
  }

  /** A start and, by the speed of the line, its end; one in fifty is never heard of again. */
  #transfer(transfer: DemoTransfer, doing: Doing, micros: number): Happening[] {
    const { draw, things } = this;
    const { actor, place } = doing;
    const file = transfer.kind === 'stream' ? things.recording() : things.file(actor.department);
    const whole = transfer.kind === 'stream' ? playedOf(draw, file) : movedOf(draw, file, place);
    if (whole.seconds > limits.transferSecondsMax) return [];
    const by = { ...doing, flow: draw.uuid() };
    const message = `${actor.name} ${transfer.begins} ${file.name} (${sizeText(file.bytes)})`;
    const events = [
      this.event(micros, by, { file, target: file, code: transfer.started, message }),
      ...this.#consequence(transfer.started, by, micros, file, actor.name),
    ];
    const fate = draw.next();
    if (fate < 0.02) return events;
    const part = fate < 0.05 ? draw.next() : 1;
    const moved = { bytes: Math.floor(whole.bytes * part), seconds: whole.seconds * part };
    events.push(this.#ending(transfer, by, micros, file, moved, part < 1));
    return events;
  }

  #ending(
    transfer: DemoTransfer,
    by: Doing,
    begun: number,
    file: DemoFile,
    { bytes, seconds }: Moved,
    broken: boolean,
  ): Happening {
    const extraJson = `"bytesTransferred":${bytes},"durationMs":${Math.round(seconds * 1000)}`;
    const words = `${by.actor.name} ${transfer.done} ${file.name}: ${sizeText(bytes)} in ${durationText(seconds)}`;
    const done = { file, target: file, code: transfer.completed, message: words, extraJson };
    const at = begun + Math.floor(seconds * 1e6) + 1;
    if (!broken) return this.event(at, by, done);
    const [code, title, why] = this.draw.pick(refusals);
    const description = `${why} after ${sizeText(bytes)} of ${file.name}`;
    return this.event(at, by, { ...done, code: transfer.failed, result: { title, description, code } });
  }

  /** An activity of one event, with what comes of it. */
  #single(activity: DemoActivity, doing: Doing, micros: number): Happening[] {
    const { draw } = this;
    const { actor } = doing;
    const target = this.#targetOf(activity.target, actor);
    const by = consequences.has(activity.code) ? { ...doing, flow: draw.uuid() } : doing;
    const whom = draw.pick(this.people).name;
    const words = { code: activity.code, message: this.#words(activity, actor, target, whom) };
    const details = { ...words, ...aboutOf(target), extraJson: `"requestId":"${draw.hex(16)}"` };
    if (activity.by === 'member' && draw.chance(0.012)) {
      const description = `the role of ${actor.name} does not allow this on ${target.name}`;
      return [this.event(micros, by, { ...details, result: { title: 'Refused', description, code: 403 } })];
    }
    return [this.event(micros, by, details), ...this.#consequence(activity.code, by, micros, target, whom)];
  }

  /** What comes of an activity, if anything does; `whom` is who is concerned. */
  #consequence(code: number, cause: Doing, micros: number, target: DemoThing, whom: string): Happening[] {
    const { draw } = this;
    const [nextCode, chance, seconds] = consequences.get(code) ?? [0, 0, 0];
    const next = demoActivities.get(nextCode);
    if (next === undefined || !draw.chance(chance)) return [];
    const at = micros + Math.floor(draw.next() * seconds * 1e6);
    const by = this.#follower(next, cause, at);
    if (by === undefined) return [];
    const about =
      next.target === demoActivities.get(code)?.target ? target : this.#targetOf(next.target, by.actor);
    const message = this.#words(next, by.actor, about, whom);
    const extraJson = `"requestId":"${draw.hex(16)}"`;
    return [this.event(at, by, { code: nextCode, message, extraJson, ...aboutOf(about) })];
  }

  /** The same person, a program at their request, or an administrator who is there. */
  #follower(next: DemoActivity, cause: Doing, micros: number): Doing | undefined {
    if (next.by === 'service') return { ...cause, actor: this.#serviceOf(next.code) };
    if (next.by === 'member') return cause;
    const admins = this.people.filter((one) => one.does === 'admin' && this.#presence(one, micros) > 0.05);
    return admins.length === 0 ? undefined : { ...cause, ...this.doing(this.draw.pick(admins), micros) };
  }

  #words({ message }: DemoActivity, actor: DemoActor, target: DemoThing, whom: string): string {
    return message.replaceAll(/\{(\w+)\}/g, (_, word) => {
      if (word === 'who') return actor.name;
      if (word === 'what') return target.name;
      return word === 'whom' ? whom : String(this.draw.integer(2, 50));
    });
  }

  #targetOf(kind: Target, actor: DemoActor): DemoThing | DemoFile {
    if (kind === 'file') return this.things.file(actor.department);
    if (kind === 'organization') return this.#owner;
    if (kind === 'folder') return this.things.folder(actor.department);
    if (kind === 'self') return actor.account;
    if (kind === 'person') return this.draw.pick(this.people).account;
    return this.things.thing(kind);
  }
}

const aboutOf = (target: DemoThing | DemoFile) =>
  'senderJson' in target ? { target, file: target } : { target };
