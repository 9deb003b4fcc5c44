import { activitiesOf, type DemoActivity, type DemoTransfer, demoTransfers, doers } from './activities.ts';
import type { Target } from './activities.ts';
import { type Draw, weighted } from './draw.ts';
import { type Details, type Doing, type Happening, happening, sizeText } from './happening.ts';
import { type DemoActor, demoActors, localTime, whereabouts } from './people.ts';
import type { Profile } from './profile.ts';
import { type DemoFile, type DemoThing, DemoThings, makeThing } from './things.ts';

interface CompanyOptions {
  /** Slug, if it differs from the profile's. */
  readonly organization?: string;
  /** User ids by e-mail address; others get a random one. */
  readonly ids?: ReadonlyMap<string, string>;
  /** From `begins` (Unix microseconds) these people only act in the story. */
  readonly cast?: { readonly emails: ReadonlySet<string>; readonly begins: number };
  /** Added to the time of each event. */
  readonly laterMicros?: number;
}

const hourMicros = 3_600_000_000;
/** Longer transfers do not start. */
const transferSecondsMax = 1_800;
const everyday = [...activitiesOf('member'), ...demoTransfers];
const chooseEveryday = weighted<DemoActivity | DemoTransfer>(everyday, ({ weight }) => weight);
/** By weight. Administrators and auditors do everyday work, too. */
const repertoires = new Map(
  [...doers].map((doer) => {
    const isMember = doer === 'admin' || doer === 'auditor';
    const choices = [...activitiesOf(doer), ...(isMember ? everyday : [])];
    return [doer, weighted<DemoActivity | DemoTransfer>(choices, ({ weight }) => weight)];
  }),
);
repertoires.set('member', chooseEveryday);

/** Actors, targets and usual events of one organization. Repeatable. */
export class Company {
  readonly draw: Draw;
  readonly organization: string;
  readonly things: DemoThings;
  readonly actors: readonly DemoActor[];
  readonly #profile: Profile;
  readonly #options: CompanyOptions;
  readonly #people: readonly DemoActor[];
  readonly #owner: DemoThing;
  readonly #signedInOn = new Map<DemoActor, number>();
  #present: { hour: number; working: number; pick: (draw: Draw) => DemoActor } | undefined;

  constructor(draw: Draw, profile: Profile, options: CompanyOptions = {}) {
    const { organization = profile.slug, ids = new Map() } = options;
    this.#profile = profile;
    this.#options = options;
    this.draw = draw;
    this.organization = organization;
    this.actors = demoActors(draw, profile, organization, ids);
    this.#people = this.actors.filter(({ type }) => type === 'User');
    this.things = new DemoThings(draw, profile);
    this.#owner = makeThing(draw.uuid(), organization, 'organization');
  }

  /** Relative load of the hour that begins then. */
  bustle(hour: number): number {
    return this.#atWork(hour).working;
  }

  /** A visit of a person or a program that starts in that hour; it may end later. */
  happen(hour: number): Happening[] {
    const micros = hour + Math.floor(this.draw.next() * hourMicros);
    return this.#visit(this.#atWork(hour).pick(this.draw), micros);
  }

  event(micros: number, by: Doing, details: Details): Happening {
    const happens = micros + (this.#options.laterMicros ?? 0);
    return { micros, line: happening(this.draw, this.organization, happens, by, details) };
  }

  doing(actor: DemoActor, micros: number): Doing {
    return { actor, from: whereabouts(actor, micros), port: this.draw.integer(32_768, 60_999) };
  }

  /** Probability that someone is working. */
  #presence(actor: DemoActor, micros: number): number {
    const { cast } = this.#options;
    if (cast !== undefined && micros >= cast.begins && cast.emails.has(actor.email)) return 0;
    const { hour, weekday } = localTime(actor, micros);
    const { hours, week } = this.#profile;
    if (actor.type === 'App/System') return actor.diligence;
    return ((hours[hour] ?? 0) / 100) * (week[weekday] ?? 0) * actor.diligence;
  }

  #atWork(hour: number) {
    if (this.#present?.hour === hour) return this.#present;
    const presence = (one: DemoActor): number => this.#presence(one, hour);
    const working = this.actors.reduce((sum, one) => sum + presence(one), 0);
    this.#present = { hour, working, pick: weighted(this.actors, presence) };
    return this.#present;
  }

  /** Someone signs in, does several things within minutes, and perhaps signs out. */
  #visit(actor: DemoActor, micros: number): Happening[] {
    const { draw } = this;
    const events: Happening[] = [];
    const choose = repertoires.get(actor.does) ?? chooseEveryday;
    const { day } = localTime(actor, micros);
    let at = micros;
    const pass = (seconds: number): void => {
      at += Math.floor((0.5 + draw.next() * seconds) * 1e6);
    };
    if (actor.type === 'User' && (this.#signedInOn.get(actor) !== day || draw.chance(0.35))) {
      this.#signedInOn.set(actor, day);
      const login = this.#login(this.doing(actor, at), at);
      events.push(...login.steps);
      if (!login.good) return events;
      at = login.steps.at(-1)?.micros ?? at;
    }
    for (let left = draw.integer(1, 8); left > 0; left -= 1) {
      pass(draw.chance(0.15) ? 240 : 40);
      const choice = choose(draw);
      const by = this.doing(actor, at);
      events.push(...('codes' in choice ? this.#transfer(choice, by, at) : [this.#single(choice, by, at)]));
    }
    if (actor.type === 'User' && draw.chance(0.12)) {
      pass(60);
      const message = `${actor.name} signed out`;
      events.push(this.event(at, this.doing(actor, at), { code: 1003, target: actor.account, message }));
    }
    return events;
  }

  /** Perhaps a wrong password first, then MFA, then success; sometimes only failures. */
  #login(doing: Doing, micros: number): { steps: Happening[]; good: boolean } {
    const { draw } = this;
    const { actor, from } = doing;
    const by = { ...doing, flow: draw.uuid() };
    const target = actor.account;
    const extraJson = `"method":"${actor.method}","city":"${from.city}","department":"${actor.department}"`;
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
    step(1001, `${actor.name} signed in by ${actor.method} from ${from.city}`);
    return { steps, good: true };
  }

  /** A start and, by the line's speed, its end; one in fifty has none. */
  #transfer({ codes, words }: DemoTransfer, doing: Doing, micros: number): Happening[] {
    const { draw, things } = this;
    const { actor, from } = doing;
    const [started, completed, failed] = codes;
    const plays = started === 2020;
    const target = plays ? things.recording() : things.file(actor.department);
    const { name, bytes } = target;
    const rate = plays ? draw.integer(40e3, 1500e3) : from.bytesPerSecond * (0.3 + 0.7 * draw.next());
    const seconds = 0.1 + bytes / rate;
    if (seconds > transferSecondsMax) return [];
    const by = { ...doing, flow: draw.uuid() };
    const message = `${actor.name} ${words[0]} ${name} (${sizeText(bytes)})`;
    const events = [this.event(micros, by, { target, code: started, message })];
    const fate = draw.next();
    if (fate < 0.02) return events;
    const part = fate < 0.05 ? draw.next() : 1;
    const size = Math.floor(bytes * part);
    const durationMs = Math.round(seconds * part * 1000);
    const done = {
      target,
      code: completed,
      message: `${actor.name} ${words[1]} ${name}: ${sizeText(size)} in ${durationMs / 1000} s`,
      extraJson: `"bytesTransferred":${size},"durationMs":${durationMs}`,
    };
    const at = micros + durationMs * 1000 + 1;
    if (part === 1) return [...events, this.event(at, by, done)];
    const description = `the client closed the connection after ${sizeText(size)} of ${name}`;
    const result = { title: 'Cancelled', description, code: 499 };
    return [...events, this.event(at, by, { ...done, code: failed, result })];
  }

  #single(activity: DemoActivity, by: Doing, micros: number): Happening {
    const { draw } = this;
    const { actor } = by;
    const target = this.#targetOf(activity.target, actor);
    const message = this.#words(activity, actor, target);
    const extraJson = `"requestId":"${draw.hex(16)}"`;
    const details = { code: activity.code, message, target, extraJson };
    if (actor.type !== 'User' || !draw.chance(0.012)) return this.event(micros, by, details);
    const description = `the role of ${actor.name} does not allow this on ${target.name}`;
    return this.event(micros, by, { ...details, result: { title: 'Refused', description, code: 403 } });
  }

  #words({ message }: DemoActivity, actor: DemoActor, target: DemoThing): string {
    return message.replaceAll(/\{(\w+)\}/g, (_, word) => {
      if (word === 'who') return actor.name;
      if (word === 'what') return target.name;
      return word === 'whom' ? this.draw.pick(this.#people).name : String(this.draw.integer(2, 50));
    });
  }

  #targetOf(kind: Target, actor: DemoActor): DemoThing | DemoFile {
    if (kind === 'file') return this.things.file(actor.department);
    if (kind === 'organization') return this.#owner;
    if (kind === 'folder') return this.things.folder(actor.department);
    if (kind === 'self') return actor.account;
    if (kind === 'person') return this.draw.pick(this.#people).account;
    return this.things.thing(kind);
  }
}
