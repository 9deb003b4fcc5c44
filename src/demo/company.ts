import {
  type DemoActivity,
  type DemoTransfer,
  demoActivities,
  demoTransfers,
  loginWeight,
} from './activities.ts';
import type { Draw } from './draw.ts';
import { actorOf, type DemoActor, type DemoUser, guestActors, serviceActors } from './people.ts';
import { createThings, type DemoFile, type DemoThing, type DemoThings, makeThing } from './things.ts';

/** An event that will have happened, as the line that is sent. */
export interface Happening {
  readonly micros: number;
  readonly line: string;
}

export interface Company {
  /** How much goes on in the hour that begins then; only the proportion of hours matters. */
  bustle(hourMicros: number): number;
  /** One thing that someone does in that hour, of one event or several. */
  happen(hourMicros: number): Happening[];
}

type Result = readonly [code: number, title: string, description: string, detail?: string];

interface Details {
  readonly code: number;
  readonly title: string;
  readonly actor: DemoActor;
  readonly target: DemoThing;
  readonly msg?: string;
  readonly level?: string;
  readonly result?: Result;
  readonly file?: DemoFile;
  readonly flow?: string;
  /** JSON members of `message.extra` beside those of the file and the actor, without braces. */
  readonly extraJson: string;
}

const hourMicros = 3_600_000_000;
const refused = [403, 'Denied', 'Your role does not allow this'] as const;
const okJson = JSON.stringify({ title: 'OK', code: 200 });
const roundTheClock = 1.5;

function isoMicros(micros: number): string {
  const belowMs = String(micros % 1000).padStart(3, '0');
  return `${new Date(Math.floor(micros / 1000)).toISOString().slice(0, 23)}${belowMs}Z`;
}

/** How likely someone is to be working: in the week by day, a little in the evening, seldom at night and weekends. */
function presence(actor: DemoActor, micros: number): number {
  const local = new Date(micros / 1000 + actor.site.utcOffsetHours * 3_600_000);
  const hour = local.getUTCHours();
  if (actor.site.weekend.includes(local.getUTCDay())) return hour >= 9 && hour < 22 ? 0.04 : 0.004;
  if (hour === 12 || hour === 13) return 0.7;
  if (hour >= 8 && hour < 18) return 1;
  return hour >= 18 && hour < 22 ? 0.18 : 0.01;
}

/** Picks by weight in the time of a binary search. */
function weighted<T>(list: readonly T[], weight: (item: T) => number): (draw: Draw) => T {
  const sums: number[] = [];
  let total = 0;
  for (const item of list) sums.push((total += weight(item)));
  return (draw) => {
    const wanted = draw.next() * total;
    let low = 0;
    let high = list.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sums[middle] ?? 0) > wanted) high = middle;
      else low = middle + 1;
    }
    const found = list[low];
    if (found === undefined) throw new Error('nothing to pick from');
    return found;
  };
}

function resultJson([code, title, description, detail]: Result): string {
  return JSON.stringify({ title, description, code, detail });
}

/**
 * An event from texts that are JSON already: what people and things have in every event is serialized once, which
 * makes the generator twice as fast.
 */
function happening(stage: Stage, micros: number, details: Details): Happening {
  const { draw } = stage;
  const { actor, file, code, title, msg } = details;
  // Newer producers, here the programs, send the title along.
  const action = actor.type === 'App/System' ? `{"code":${code},"title":"${title}"}` : String(code);
  const sender =
    file === undefined
      ? ''
      : `"sender":{"file":${JSON.stringify(file.name)},"email":"${actor.email}","hash":"${file.sha256}"},`;
  const fileExtra = file === undefined ? '' : `${file.extraJson},`;
  const line =
    `{"level":"${details.level ?? 'INFO'}",${msg === undefined ? '' : `"msg":${JSON.stringify(msg)},`}` +
    `"message":{"timestamp":"${isoMicros(micros)}","actor":${actor.json},"action":${action},` +
    `"target":${details.target.json},"result":${details.result === undefined ? okJson : resultJson(details.result)},` +
    `"remote":{"ip":"${draw.pick(actor.ips)}","port":${draw.integer(1024, 65_535)}},${sender}` +
    `"extra":{${fileExtra}${details.extraJson},${actor.extraJson}},` +
    `${details.flow === undefined ? '' : `"flow_id":"${details.flow}",`}"org":"${stage.organization}"}}`;
  return { micros, line };
}

interface Stage {
  readonly draw: Draw;
  readonly organization: string;
  readonly things: DemoThings;
  readonly people: readonly DemoActor[];
  /** The organization itself. */
  readonly owner: DemoThing;
}

/** A start and, seconds later, how it ended; one in fifty is never heard of again. */
function transfer(stage: Stage, actor: DemoActor, kind: DemoTransfer, micros: number): Happening[] {
  const { draw, things } = stage;
  const file = kind.kind === 'stream' ? things.recording() : things.file();
  const common = { actor, file, flow: draw.uuid(), target: file };
  const [startCode, startTitle] = kind.started;
  const started = happening(stage, micros, {
    ...common,
    code: startCode,
    title: startTitle,
    extraJson: `"transfer":"${kind.kind}"`,
  });
  const fate = draw.next();
  if (fate < 0.02) return [started];
  const seconds = Math.min(900, 0.2 + file.bytes / draw.integer(400_000, 90_000_000));
  const failed = fate < 0.06;
  const [code, title] = failed ? kind.failed : kind.completed;
  const transferred = failed ? Math.floor(file.bytes * draw.next()) : file.bytes;
  const durationMs = Math.round(seconds * 1000);
  const ended = happening(stage, micros + Math.floor(seconds * 1e6), {
    ...common,
    code,
    title,
    ...(failed
      ? {
          level: 'WARN',
          result: [draw.pick([408, 499, 507]), title, 'The connection was lost', 'incomplete'],
        }
      : { msg: `${title}: ${file.name}` }),
    extraJson: `"transfer":"${kind.kind}","bytesTransferred":${transferred},"durationMs":${durationMs},"encrypted":true`,
  });
  return [started, ended];
}

/** A login: perhaps a wrong password first, then MFA, then success; sometimes only failures. */
function login(stage: Stage, actor: DemoActor, micros: number): Happening[] {
  const { draw } = stage;
  const flow = draw.uuid();
  const target = makeThing(actor.id, actor.email, 'user');
  const steps: Happening[] = [];
  let at = micros;

  function step(code: number, title: string, more: Partial<Details> = {}): void {
    const extraJson = `"method":"${draw.pick(['password', 'saml', 'passkey'])}","city":"${actor.city}"`;
    steps.push(happening(stage, at, { code, title, actor, flow, target, extraJson, ...more }));
    at += draw.integer(2, 40) * 1_000_000 + draw.integer(0, 999_999);
  }

  const failures = draw.chance(0.12) ? draw.integer(1, 3) : 0;
  for (let tries = 0; tries < failures; tries += 1) {
    const result = [401, 'Login failed', 'Wrong e-mail address or password'] as const;
    step(1002, 'Login failed', { level: tries > 1 ? 'ERROR' : 'WARN', result });
  }
  if (failures === 3) return steps;
  if (draw.chance(0.6)) {
    if (draw.chance(0.05)) {
      const result = [401, 'Wrong code', 'The code did not match'] as const;
      step(1102, 'MFA verification failed', { level: 'WARN', result });
    }
    step(1101, 'MFA verified');
  }
  step(1001, 'Login succeeded', { msg: `${actor.name} signed in` });
  return steps;
}

/** Everyone who does things in one organization. */
function createCast(draw: Draw, users: readonly DemoUser[], domain: string) {
  const people = users.map((user) => actorOf(draw, user));
  const admins = people.filter((person) => person.role === 'admin');
  const services = serviceActors(draw, domain);
  const guests = guestActors(draw);
  let present = { hour: -1, pick: (draw: Draw): DemoActor => draw.pick(people) };

  function atWork(hour: number): DemoActor {
    if (present.hour !== hour) {
      present = { hour, pick: weighted(people, (person) => presence(person, hour) * person.diligence) };
    }
    return present.pick(draw);
  }

  function doer({ by, code }: DemoActivity, hour: number): DemoActor {
    switch (by) {
      case 'anyone':
        return atWork(hour);
      case 'admin':
        return admins.length > 0 ? draw.pick(admins) : atWork(hour);
      case 'service':
        return services.get(Math.floor(code / 100)) ?? atWork(hour);
      case 'guest':
        return draw.pick(guests);
      default:
        return by satisfies never;
    }
  }

  return { people, atWork, doer };
}

/** What an activity is about, where it is not a file. */
function targetOf(stage: Stage, kind: DemoActivity['target'], actor: DemoActor): DemoThing {
  const { draw, things, people, owner } = stage;
  if (kind === 'organization') return owner;
  if (kind === 'folder') return things.folder();
  if (kind === 'file') return things.file();
  if (kind !== 'person' && kind !== 'self') return things.thing(kind);
  const person = kind === 'self' ? actor : draw.pick(people);
  return makeThing(person.id, person.email, 'user');
}

function single(stage: Stage, activity: DemoActivity, actor: DemoActor, micros: number): Happening {
  const { draw, things } = stage;
  const { code, title } = activity;
  const file = activity.target === 'file' ? things.file() : undefined;
  const target = file ?? targetOf(stage, activity.target, actor);
  const turnedDown = activity.result === undefined && draw.chance(0.015);
  const result = turnedDown ? refused : activity.result;
  const level = turnedDown ? 'WARN' : activity.level;
  const resource = file === undefined ? `"resource":"${target.type}",` : '';
  return happening(stage, micros, {
    code,
    title,
    actor,
    target,
    // Where there is no message of its own, the reader makes one of the result or the title.
    ...(draw.chance(0.6) && { msg: `${title}: ${target.name}` }),
    ...(level !== undefined && { level }),
    ...(result !== undefined && { result }),
    ...(file !== undefined && { file }),
    extraJson: `${resource}"requestId":"${draw.hex(16)}","durationMs":${draw.integer(1, 4000) / 10}`,
  });
}

/** Whom and what the events of one organization are about. Repeatable for the same draw and users. */
export function createCompany(draw: Draw, organization: string, users: readonly DemoUser[]): Company {
  const domain = users[0]?.email.split('@')[1] ?? `${organization}.example`;
  const { people, atWork, doer } = createCast(draw, users, domain);
  const owner = makeThing(draw.uuid(), organization, 'organization');
  const stage: Stage = { draw, organization, things: createThings(draw), people, owner };
  const pickActivity = weighted<DemoActivity | DemoTransfer | 'login'>(
    [...demoActivities, ...demoTransfers, 'login'],
    (item) => (item === 'login' ? loginWeight : item.weight),
  );
  return {
    bustle(hour) {
      const working = people.reduce((sum, person) => sum + presence(person, hour) * person.diligence, 0);
      return working + roundTheClock;
    },
    happen(hour) {
      const micros = hour + Math.floor(draw.next() * hourMicros);
      const chosen = pickActivity(draw);
      if (chosen === 'login') return login(stage, atWork(hour), micros);
      if ('kind' in chosen) return transfer(stage, atWork(hour), chosen, micros);
      return [single(stage, chosen, doer(chosen, hour), micros)];
    },
  };
}
