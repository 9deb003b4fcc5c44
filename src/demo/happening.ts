import { failures, levelOf, titleOf } from './activities.ts';
import type { Draw } from './draw.ts';
import type { DemoActor, Place } from './people.ts';
import type { DemoFile, DemoThing } from './things.ts';

/** An event that will have happened, as the line that is sent. */
export interface Happening {
  /** When it is made; the line may say so much later. */
  readonly micros: number;
  readonly line: string;
}

/** Who does something, and from where: the same for everything that is one transfer or one login. */
export interface Doing {
  readonly actor: DemoActor;
  readonly place: Place;
  readonly port: number;
  /** One gesture or workflow. */
  readonly flow?: string;
}

export interface Details {
  readonly code: number;
  readonly target: DemoThing;
  readonly message: string;
  readonly file?: DemoFile;
  /** What the producer says of the result, where it is not what the code of the activity implies. */
  readonly result?: { readonly title: string; readonly description: string; readonly code: number };
  /** JSON members of `message.extra` beside those of the file and the place, without braces. */
  readonly extraJson?: string;
}

const okJson = '{"title":"OK","code":200}';

function isoMicros(micros: number): string {
  const belowMs = String(micros % 1000).padStart(3, '0');
  return `${new Date(Math.floor(micros / 1000)).toISOString().slice(0, 23)}${belowMs}Z`;
}

/** Sizes and durations as messages say them. */
export function sizeText(bytes: number): string {
  if (bytes < 1e6) return `${Math.max(1, Math.round(bytes / 1e3))} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

export function durationText(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  return seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

/**
 * People's programs send a message of their own; the company's programs a result, of which the reader makes one
 * (contract: Audit event).
 */
function wordsOf(
  { code, message, result }: Details,
  byProgram: boolean,
): { msg: string; resultJson: string } {
  if (result !== undefined) return { msg: '', resultJson: JSON.stringify(result) };
  const resultCode = failures.get(code) ?? 200;
  const text = JSON.stringify(message);
  if (byProgram)
    return {
      msg: '',
      resultJson: `{"title":"${titleOf(code)}","description":${text},"code":${resultCode}}`,
    };
  const resultJson = resultCode === 200 ? okJson : `{"title":"${titleOf(code)}","code":${resultCode}}`;
  return { msg: `"msg":${text},`, resultJson };
}

/**
 * An event from texts that are JSON already: what people and things have in every event is serialized once, which
 * makes the generator twice as fast.
 */
export function happening(
  draw: Draw,
  organization: string,
  micros: number,
  by: Doing,
  what: Details,
): Happening {
  const { actor, place, flow } = by;
  const { code, file, target, extraJson } = what;
  const byProgram = actor.type === 'App/System';
  const { msg, resultJson } = wordsOf(what, byProgram);
  const failed = what.result !== undefined && what.result.code >= 400;
  const recorded = micros + draw.integer(800, 90_000);
  // Newer producers, here the programs, send the title along.
  const action = byProgram ? `{"code":${code},"title":"${titleOf(code)}"}` : String(code);
  const sender = file === undefined ? '' : `"sender":${file.senderJson}"${actor.email}"},`;
  const fileExtra = file === undefined ? '' : `${file.extraJson},`;
  const line =
    `{"time":${recorded},"level":"${failed ? 'WARN' : levelOf(code)}",${msg}` +
    `"message":{"timestamp":"${isoMicros(micros)}","actor":${actor.json},"action":${action},` +
    `"target":${target.json},"result":${resultJson},` +
    `"remote":{"ip":"${place.ip}","port":${by.port}},${sender}` +
    `"extra":{${fileExtra}${extraJson === undefined ? '' : `${extraJson},`}${place.extraJson}},` +
    `${flow === undefined ? '' : `"flow_id":"${flow}",`}"org":"${organization}"}}`;
  return { micros, line };
}
