import { limits } from './limits.ts';
import { damagedPartIn } from './damaged-part.ts';
import { EngineError } from '../base/engine-error.ts';

/** Text of an engine's answer as it may stand in the operational log: one line, bounded. */
export function shortMessage(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > limits.engineErrorCharactersMax
    ? `${line.slice(0, limits.engineErrorCharactersMax)}…`
    : line;
}

/** `Code: 60. DB::Exception: Unknown table … (UNKNOWN_TABLE) (version …)`; a cluster repeats it around the original. */
const exceptionText = /Code: (\d+).*Exception: (.+?)\(((?=[A-Z0-9_]*[A-Z]{3})[A-Z0-9_]+)\)/s;

/** What the engine, or what stands before it, answered with another status than 200. */
export function refusal(status: number, code: string | undefined, text: string): EngineError {
  const [, number, message = text, type = ''] = exceptionText.exec(text) ?? [];
  const known = number ?? code;
  if (known !== undefined) return exception(Number(known), shortMessage(`${type} ${message}`), text);
  return new EngineError('unreachable', shortMessage(`status ${status}: ${text}`));
}

/**
 * The exception that the engine wrote behind the rows it had already sent, or undefined.
 *
 *     rows … \r\n__exception__\r\n<tag>\r\nCode: 395. DB::Exception: …\n<length> <tag>\r\n__exception__\r\n
 *
 * The tag is random for each response and announced in a header, so rows cannot be taken for it.
 */
export function exceptionInTail(tail: Uint8Array, tag: string | undefined): EngineError | undefined {
  if (tag === undefined || tag === '') return undefined;
  const bytes = Buffer.from(tail.buffer, tail.byteOffset, tail.byteLength);
  const marker = `__exception__\r\n${tag}\r\n`;
  const at = bytes.indexOf(marker);
  if (at === -1) return undefined;
  const text = bytes.subarray(at + marker.length).toString('utf8');
  const code = /Code: (\d+)/.exec(text)?.[1];
  return exception(code === undefined ? undefined : Number(code), shortMessage(text), text);
}

function exception(code: number | undefined, message: string, text: string): EngineError {
  return new EngineError('refused', message, code, undefined, damagedPartIn(code, text));
}
