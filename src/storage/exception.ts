import { errorFacts } from '../base/observability/log.ts';
import { limits } from './limits.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import { fileErrorWords, messageOf } from '../base/errors/system-error.ts';

const binary = /[\p{Cc}\ufffd]/u;

export function shortMessage(text: string): string {
  const line = text.replaceAll(/[\s\p{Cc}\ufffd]+/gu, ' ').trim();
  return line.length > limits.engineErrorCharactersMax
    ? `${line.slice(0, limits.engineErrorCharactersMax)}…`
    : line;
}

/**
 * `Code: 60. DB::Exception: Unknown table … (UNKNOWN_TABLE) (version …)`; a cluster wraps the original in
 * another.
 */
const exceptionText = /Code: (\d+).*Exception: (.+?)\(((?=[A-Z0-9_]*[A-Z]{3})[A-Z0-9_]+)\)/s;

export function refusal(status: number, code: string | undefined, text: string): EngineError {
  const [, number, message = text, type = ''] = exceptionText.exec(text) ?? [];
  const known = number ?? code;
  const isBinary = binary.test(text.replaceAll(/\s/g, ''));
  if (known !== undefined)
    return exception(
      Number(known),
      isBinary ? wordsOfCode(Number(known)) : shortMessage(`${type} ${message}`),
      text,
    );
  if (isBinary) return new EngineError('unreachable', `status ${status}, without a message`);
  return new EngineError('unreachable', shortMessage(`status ${status}: ${text}`));
}

export function unreachable(error: unknown): EngineError {
  const { error: words, code = 'no answer' } = errorFacts(error);
  return new EngineError('unreachable', shortMessage(words) || code, undefined, error);
}

/**
 * The exception that the engine wrote behind rows already sent, or undefined:
 *
 *     rows … \r\n__exception__\r\n<tag>\r\nCode: 395. DB::Exception: …\n<length> <tag>\r\n__exception__\r\n
 *
 * The tag is random and announced in a header, so rows cannot imitate it.
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
 * ClickHouse errors that mean a damaged file of a part: CANNOT_READ_ALL_DATA, CHECKSUM_DOESNT_MATCH,
 * CANNOT_READ_FROM_FILE_DESCRIPTOR, FILE_DOESNT_EXIST, INCORRECT_DATA, NO_FILE_IN_DATA_PART, CORRUPTED_DATA,
 * CANNOT_DECOMPRESS, UNKNOWN_CODEC, POTENTIALLY_BROKEN_DATA_PART, and a failed system call.
 */
const damageCodes: ReadonlySet<number> = new Set([33, 40, 74, 107, 117, 226, 246, 271, 432, 740, 1001]);

export function isDamage({ engineCode }: EngineError): boolean {
  return engineCode !== undefined && damageCodes.has(engineCode);
}

function wordsOfCode(code: number): string {
  return damageCodes.has(code)
    ? `a file of the engine is damaged (error ${code}); run "auditlog doctor"`
    : `the engine rejected a statement (error ${code}) without a message`;
}

/** A part by its folder, or as the engine names it: `202611_1_9_2`, with the version of a mutation. */
const namedPart = /(?:\/|reading part )([0-9A-Za-z]+_\d+_\d+_\d+(?:_\d+)?)(?=[\s/:."),]|$)/;

const tableNamed = /\bin table \w+\.(\w+) \(/;

/** Undefined for any other exception. @param text the whole exception, as the name may come late */
export function damagedPartIn(code: number | undefined, text: string): string | undefined {
  if (code === undefined || !damageCodes.has(code)) return undefined;
  return namedPart.exec(text)?.[1];
}

const adviceOfCode: ReadonlyMap<number | undefined, string> = new Map([
  [241, 'the engine has too little memory for this; request less at once, or give it more memory'],
  [243, 'the disk of the engine is full; free some space on it'],
  [497, 'the user of the engine lacks a right; "auditlog doctor" shows the statement that grants it'],
  [516, 'the engine rejects the user; check CLICKHOUSE_USER and CLICKHOUSE_PASSWORD'],
]);

/**
 * A failure with advice for the operator. Omits text of the engine, which names files, queries and values; LOG_LEVEL=debug shows
 * it.
 */
export function operatorWords(error: unknown): string {
  if (!(error instanceof EngineError)) return fileErrorWords(error) ?? messageOf(error);
  const { failure, engineCode, damagedPart, damagedTable, message } = error;
  if (failure === 'timeout')
    return `${message}: the engine is too slow or too busy; "auditlog doctor" checks its host`;
  if (failure === 'unreachable')
    return `the engine does not answer: ${/^status \d+/.exec(message)?.[0] ?? message}`;
  if (damagedPart !== undefined) {
    const table = damagedTable === undefined ? '' : ` of the table ${damagedTable}`;
    return `part ${damagedPart}${table} is damaged; run "auditlog doctor"`;
  }
  if (engineCode === undefined) return message;
  if (isDamage(error)) return wordsOfCode(engineCode);
  const advice = adviceOfCode.get(engineCode);
  if (advice !== undefined) return `${advice} (error ${engineCode})`;
  return `the engine rejected a statement (error ${engineCode}); run "auditlog doctor"; LOG_LEVEL=debug shows its message`;
}
