import { errorFacts } from '../base/observability/log.ts';
import { limits } from './limits.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { fileErrorWords, messageOf } from '../base/errors/system-error.ts';

/** Bytes that no text has, and what stands for those that are none in UTF-8. */
const binary = /[\p{Cc}\ufffd]/u;

/** Text of an engine's answer as it may stand in the operational log: one line, bounded, without binary. */
export function shortMessage(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}\ufffd]+/gu, ' ').trim();
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
  // The words are compressed where the answer was to be.
  const isBinary = binary.test(text.replaceAll(/\s/g, ''));
  if (known !== undefined)
    return exception(
      Number(known),
      isBinary ? wordsOfCode(Number(known)) : shortMessage(`${type} ${message}`),
      text,
    );
  if (isBinary) return new EngineError('unreachable', `status ${status}, without words`);
  return new EngineError('unreachable', shortMessage(`status ${status}: ${text}`));
}

/** No answer, or not all of one. */
export function unreachable(error: unknown): EngineError {
  const { error: words, code = 'no answer' } = errorFacts(error);
  return new EngineError('unreachable', shortMessage(words) || code, undefined, error);
}

/**
 * The exception that the engine wrote behind the rows it had already sent, or undefined.
 *
 *     rows … \r\n__exception__\r\n<tag>\r\nCode: 395. DB::Exception: …\n<length> <tag>\r\n__exception__\r\n
 *
 * The exception tag is random for each response and announced in a header, so rows cannot be taken for it.
 */
export function exceptionInTail(tail: Uint8Array, tag: string | undefined): EngineError | undefined {
  if (tag === undefined || tag === '') return undefined;
  const bytes = Buffer.from(tail.buffer, tail.byteOffset, tail.byteLength);
  const marker = `__exception__\r\n${tag}\r\n`;
  const at = bytes.indexOf(marker);
  if (at === -1) return undefined;
  const text = bytes.subarray(at + marker.length).toString('utf8');
  const code = /Code: (\d+)/.exec(text)?.[1];
  return exception(Number(code ?? 0), shortMessage(text), text);
}

function exception(code: number, message: string, text: string): EngineError {
  const part = damagedPartIn(code, text);
  const damaged = part === undefined ? undefined : { part, table: tableNamed.exec(text)?.[1] };
  return new EngineError('refused', message, code, undefined, damaged);
}

/**
 * Exceptions by which the engine tells that a file of a part is not what it wrote (ClickHouse error numbers):
 * CANNOT_READ_ALL_DATA, CHECKSUM_DOESNT_MATCH, CANNOT_READ_FROM_FILE_DESCRIPTOR, FILE_DOESNT_EXIST, INCORRECT_DATA,
 * NO_FILE_IN_DATA_PART, CORRUPTED_DATA, CANNOT_DECOMPRESS, UNKNOWN_CODEC, POTENTIALLY_BROKEN_DATA_PART, and a failing
 * call of the file system.
 */
const damageCodes: ReadonlySet<number> = new Set([33, 40, 74, 107, 117, 226, 246, 271, 432, 740, 1001]);

/** Whether the engine says by this that a file of its own is damaged. */
export function isDamage({ engineCode }: EngineError): boolean {
  return engineCode !== undefined && damageCodes.has(engineCode);
}

function wordsOfCode(code: number): string {
  return damageCodes.has(code)
    ? `a file of the engine is damaged (error ${code}): "auditlog doctor" names it and says what to do`
    : `the engine refused a statement (error ${code}), without a message`;
}

/** A part by its folder, or as the engine says it behind the path: `202611_1_9_2`, with the version of a mutation. */
const namedPart = /(?:\/|reading part )([0-9A-Za-z]+_\d+_\d+_\d+(?:_\d+)?)(?=[\s/:."),]|$)/;

/** As the engine names the table of a part: `in table audit.evidence_tiles (90e1b607-…)`. */
const tableNamed = /\bin table \w+\.(\w+) \(/;

/**
 * The name of the part that could not be read, or undefined where an exception tells of anything else. Some of these
 * numbers also stand for a connection cut short or a bad value, and then no part is named.
 *
 * @param text the exception whole: its name of the part may stand far behind
 */
export function damagedPartIn(code: number | undefined, text: string): string | undefined {
  if (code === undefined || !damageCodes.has(code)) return undefined;
  return namedPart.exec(text)?.[1];
}

/** What an operator can do about an exception, by its number. */
const adviceOfCode: ReadonlyMap<number | undefined, string> = new Map([
  [241, 'the engine has too little memory for this; ask for less at once, or give it more memory'],
  [243, 'the disk of the engine is full; free some space on it'],
  [497, 'the user of the engine lacks a right; "auditlog doctor" names the statement that grants it'],
  [516, 'the engine refuses the user; check CLICKHOUSE_USER and CLICKHOUSE_PASSWORD'],
]);

/**
 * A failure in words for whoever ran a command: what is wrong, and what to do. Text of the engine is not among them, as
 * it names files, queries and values; LOG_LEVEL=debug shows it.
 */
export function operatorWords(error: unknown): string {
  if (!(error instanceof EngineError)) return fileErrorWords(error) ?? messageOf(error);
  const { failure, engineCode, damagedPart, damagedTable, message } = error;
  if (failure === 'timeout')
    return `${message}: the engine is too slow or too busy; "auditlog doctor" looks at what it stands on`;
  // What stands before the engine may answer with a page of its own.
  if (failure === 'unreachable')
    return `the engine does not answer: ${/^status \d+/.exec(message)?.[0] ?? message}`;
  if (damagedPart !== undefined) {
    const table = damagedTable === undefined ? '' : ` of the table ${damagedTable}`;
    return `part ${damagedPart}${table} is damaged: "auditlog doctor" says what to do`;
  }
  if (engineCode === undefined) return message;
  if (isDamage(error)) return wordsOfCode(engineCode);
  const advice = adviceOfCode.get(engineCode);
  if (advice !== undefined) return `${advice} (error ${engineCode})`;
  return `the engine refused a statement (error ${engineCode}): see "auditlog doctor"; LOG_LEVEL=debug shows its words`;
}
