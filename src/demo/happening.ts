import { failures, levelOf, titleOf } from './activities.ts';
import type { Draw } from './draw.ts';
import type { DemoActor, Location } from './people.ts';
import type { DemoFile, DemoThing } from './things.ts';

/** A generated event, as the line to send. */
export interface Happening {
  /** Generation time; the line may be shifted. */
  readonly micros: number;
  readonly line: string;
}

/** Actor and location, shared by all events of one transfer or login. */
export interface Doing {
  readonly actor: DemoActor;
  readonly from: Location;
  readonly port: number;
  /** One user action or workflow. */
  readonly flow?: string;
}

export interface Details {
  readonly code: number;
  readonly target: DemoThing | DemoFile;
  readonly message: string;
  /** The result as sent, if it differs from the activity's. */
  readonly result?: { readonly title: string; readonly description: string; readonly code: number };
  /** JSON members of `message.extra` beside those of file and location, without braces. */
  readonly extraJson?: string;
}

/** A size as messages show it. */
export function sizeText(bytes: number): string {
  if (bytes < 1e6) return `${Math.max(1, Math.round(bytes / 1e3))} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

/** The line of an event, from JSON texts: serializing actors and things once halves the time. */
export function happening(
  draw: Draw,
  organization: string,
  micros: number,
  { actor, from, port, flow }: Doing,
  details: Details,
): string {
  const { code, target, message, result, extraJson } = details;
  const byProgram = actor.type === 'App/System';
  // Readers derive the message from a result (contract: Audit event).
  const msg = result === undefined ? `"msg":${JSON.stringify(message)},` : '';
  const resultCode = failures.get(code) ?? 200;
  const usual = { title: resultCode === 200 ? 'OK' : titleOf(code), code: resultCode };
  const failed = result !== undefined && result.code >= 400;
  const recorded = micros + draw.integer(800, 90_000);
  const timestamp = `${new Date(Math.floor(micros / 1000)).toISOString().slice(0, 23)}${String(micros % 1000).padStart(3, '0')}Z`;
  // Newer producers, here the programs, also send the title.
  const action = byProgram ? `{"code":${code},"title":"${titleOf(code)}"}` : String(code);
  const file = 'senderJson' in target ? target : undefined;
  const sender = file === undefined ? '' : `"sender":${file.senderJson}"${actor.email}"},`;
  const extras = [file?.extraJson, extraJson, from.extraJson].filter((members) => members !== undefined);
  return (
    `{"time":${recorded},"level":"${failed ? 'WARN' : levelOf(code)}",${msg}` +
    `"message":{"timestamp":"${timestamp}","actor":${actor.json},"action":${action},` +
    `"target":${target.json},"result":${JSON.stringify(result ?? usual)},` +
    `"remote":{"ip":"${from.ip}","port":${port}},${sender}` +
    `"extra":{${extras.join(',')}},` +
    `${flow === undefined ? '' : `"flow_id":"${flow}",`}"org":"${organization}"}}`
  );
}
