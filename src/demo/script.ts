import { demoActivities } from './activities.ts';
import type { Absence, Company } from './company.ts';
import type { Happening } from './happening.ts';
import { type DemoActor, emailOf, type Place } from './people.ts';
import { type DemoFile, type DemoThing, makeThing } from './things.ts';

/** Something to be found among the events of a company, and the filters that find it (contract: Read). */
export interface Clue {
  readonly title: string;
  readonly query: Readonly<Record<string, string>>;
}

/** A person by the part of the e-mail address before the @, from one moment of a story to another. */
type Span = readonly [person: string, from: string, until: string];

/** What happens in a company besides the usual. Moments are a weekday and a time, UTC: `Wed 02:16:40`. */
export interface Story {
  /** It begins so many days before this week, which begins with Sunday; each weekday is the first from there. */
  readonly begins: number;
  /** With fewer events of its organization, it is not told. */
  readonly eventsMin: number;
  /** Then these people do nothing else, so that the clues find the story alone. */
  readonly absences: readonly (readonly [person: string, from: string, until?: string])[];
  /** Found by a person and a time, or by a flow. */
  readonly clues: readonly (readonly [title: string, where: Span | string])[];
  readonly tell: (script: Script) => void;
}

/** Where and in which flow something happens, if not as usual. */
interface Circumstances {
  readonly from?: Place;
  readonly flow?: string;
  /** Members of `message.extra`. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** What someone does: with whose account, or with a thing of that name; `{who}` and `{what}` stand for both. */
export type Scene = readonly [
  moment: string,
  person: string,
  code: number,
  about: string,
  message: string,
  circumstances?: Circumstances,
];

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const dayMicros = 86_400_000_000;
const weekdayOf = (day: number): number => (day + 4) % 7;

/** When moments of a story are that is told in the week that begins at `week`; Unix microseconds. */
function momentsOf({ begins }: Story, week: number): (moment: string) => number {
  const first = Math.floor(week / dayMicros) - begins;
  return (moment) => {
    const [day = '', time = ''] = moment.split(' ');
    const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
    const after = (weekdays.indexOf(day) - weekdayOf(first) + 7) % 7;
    return (first + after) * dayMicros + ((hours * 60 + minutes) * 60 + seconds) * 1_000_000;
  };
}

export function absencesOf(story: Story, organization: string, week: number): Absence[] {
  const at = momentsOf(story, week);
  return story.absences.map(([person, from, until]) => ({
    email: emailOf(person, organization),
    from: at(from),
    until: until === undefined ? Number.POSITIVE_INFINITY : at(until),
  }));
}

export function cluesOf(story: Story, organization: string, week: number): Clue[] {
  const at = momentsOf(story, week);
  const instant = (moment: string): string => new Date(at(moment) / 1000).toISOString().replace('.000', '');
  return story.clues.map(([title, where]) => {
    if (typeof where === 'string') return { title, query: { flowId: where } };
    const [person, from, until] = where;
    const actor = emailOf(person, organization);
    return { title, query: { actor, startTime: instant(from), endTime: instant(until) } };
  });
}

/** The events of a story while it is told. */
export class Script {
  readonly events: Happening[] = [];
  readonly company: Company;
  readonly at: (moment: string) => number;
  readonly #things = new Map<string, DemoThing>();
  readonly #ports = new Map<string, number>();

  constructor(story: Story, company: Company, week: number) {
    this.company = company;
    this.at = momentsOf(story, week);
  }

  person(local: string): DemoActor {
    const email = emailOf(local, this.company.organization);
    const found = this.company.people.find((one) => one.email === email);
    if (found === undefined) throw new Error(`nobody is called ${local}`);
    return found;
  }

  play(scenes: readonly Scene[]): void {
    for (const [moment, local, code, about, message, circumstances] of scenes) {
      const micros = this.at(moment) + this.company.draw.integer(0, 999_999);
      this.add(micros, this.person(local), code, this.#about(code, about), message, circumstances);
    }
  }

  add(
    micros: number,
    who: DemoActor,
    code: number,
    target: DemoThing | DemoFile,
    message: string,
    { from, flow, extra }: Circumstances = {},
  ): void {
    const usual = this.company.doing(who, micros);
    const place = from ?? usual.place;
    const by =
      flow === undefined
        ? { ...usual, place }
        : { ...usual, place, flow, port: this.#portOf(`${flow} ${place.ip}`, usual.port) };
    const details = {
      code,
      target,
      message: message.replace('{who}', who.name).replace('{what}', target.name),
      ...('senderJson' in target && { file: target }),
      ...(extra !== undefined && { extraJson: JSON.stringify(extra).slice(1, -1) }),
    };
    this.events.push(this.company.event(micros, by, details));
  }

  /** The port of a line that stays open. */
  #portOf(line: string, port: number): number {
    const known = this.#ports.get(line) ?? port;
    this.#ports.set(line, known);
    return known;
  }

  #about(code: number, name: string): DemoThing {
    const account = this.company.people.find(
      (one) => one.email === emailOf(name, this.company.organization),
    )?.account;
    const type = demoActivities.get(code)?.target ?? 'folder';
    const thing =
      account ?? this.#things.get(name) ?? makeThing(`${type}_${this.company.draw.hex(12)}`, name, type);
    this.#things.set(name, thing);
    return thing;
  }
}
