import { targetOf } from './activities.ts';
import type { Company } from './company.ts';
import { type Happening, sizeText } from './happening.ts';
import { type DemoActor, emailOf, type Location } from './people.ts';
import { type DemoFile, type DemoThing, makeThing } from './things.ts';

/** Something to find among a company's events, with the filters that find it (contract: Read). */
export interface Clue {
  readonly title: string;
  readonly query: Readonly<Record<string, string>>;
}

/** Local part of a person's address, from one moment of a story to another. */
type Span = readonly [person: string, from: string, until: string];

/** Unusual events of a company. Moments are a weekday and a time, UTC: `Wed 02:16:40`. */
export interface Story {
  /** Days before this week's Sunday on which it begins; each weekday is the first from there. */
  readonly begins: number;
  /** With fewer events in the organization the story is left out. */
  readonly eventsMin: number;
  /** From its beginning they do nothing else, so that the clues find only the story. */
  readonly cast: readonly string[];
  /** Found by a person and a time, or by a flow. */
  readonly clues: readonly (readonly [title: string, where: Span | string])[];
  readonly tell: (script: Script) => void;
}

/** Location and flow, if unusual. */
interface Circumstances {
  readonly from?: Location;
  readonly flow?: string;
  /** Members of `message.extra`. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** Someone acts on an account or a thing of that name; `{who}` and `{what}` stand for both. */
type Scene = readonly [moment: string, person: string, code: number, about: string, message: string];

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const dayMicros = 86_400_000_000;
const weekdayOf = (day: number): number => (day + 4) % 7;

/** The story's moments in the week that begins at `week`; Unix microseconds. */
function momentsOf({ begins }: Story, week: number): (moment: string) => number {
  const first = Math.floor(week / dayMicros) - begins;
  return (moment) => {
    const [day = '', time = ''] = moment.split(' ');
    const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
    const after = (weekdays.indexOf(day) - weekdayOf(first) + 7) % 7;
    return (first + after) * dayMicros + ((hours * 60 + minutes) * 60 + seconds) * 1_000_000;
  };
}

export function castOf({ cast, begins }: Story, organization: string, week: number) {
  const emails = new Set(cast.map((person) => emailOf(person, organization)));
  return { emails, begins: week - begins * dayMicros };
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

/** Generates the events of a story. */
export class Script {
  readonly events: Happening[] = [];
  readonly company: Company;
  readonly at: (moment: string) => number;
  readonly #things = new Map<string, DemoThing>();

  constructor(story: Story, company: Company, week: number) {
    this.company = company;
    this.at = momentsOf(story, week);
  }

  person(local: string): DemoActor {
    const person = this.#find(local);
    if (person === undefined) throw new Error(`no person is called ${local}`);
    return person;
  }

  play(circumstances: Circumstances, scenes: readonly Scene[]): void {
    for (const [moment, local, code, about, message] of scenes) {
      const micros = this.at(moment) + this.company.draw.integer(0, 999_999);
      this.add(micros, this.person(local), code, this.#about(code, about), message, circumstances);
    }
  }

  add(
    micros: number,
    who: DemoActor,
    code: number,
    target: DemoThing | DemoFile,
    words: string,
    { from, flow, extra }: Circumstances = {},
  ): void {
    const { company } = this;
    const by = { ...company.doing(who, micros), ...(from && { from }), ...(flow && { flow }) };
    const message = words.replace('{who}', who.name).replace('{what}', target.name);
    const extraJson = extra === undefined ? {} : { extraJson: JSON.stringify(extra).slice(1, -1) };
    this.events.push(company.event(micros, by, { code, target, message, ...extraJson }));
  }

  /** Downloads a whole file from `begins` (microseconds); returns the end. */
  download(begins: number, who: DemoActor, file: DemoFile, from: Location, flow: string): number {
    const durationMs = Math.round((file.bytes / from.bytesPerSecond) * 1000);
    const micros = begins + durationMs * 1000 + this.company.draw.integer(0, 999);
    const extra = { bytesTransferred: file.bytes, durationMs };
    this.add(micros, who, 2003, file, `{who} downloaded {what}: ${sizeText(file.bytes)}`, {
      from,
      flow,
      extra,
    });
    return micros;
  }

  #find(local: string): DemoActor | undefined {
    const email = emailOf(local, this.company.organization);
    return this.company.actors.find((one) => one.email === email);
  }

  #about(code: number, name: string): DemoThing {
    const type = targetOf(code) ?? 'folder';
    const make = (): DemoThing => makeThing(`${type}_${this.company.draw.hex(12)}`, name, type);
    const thing = this.#find(name)?.account ?? this.#things.get(name) ?? make();
    this.#things.set(name, thing);
    return thing;
  }
}
