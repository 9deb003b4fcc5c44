import { checkedLine, textOfLine } from '../base/bytes/checked-line.ts';
import { limits } from './limits.ts';

export interface BatchAnswer {
  readonly accepted: number;
  readonly rejected: number;
  readonly errors: readonly { readonly index: number; readonly error: string }[];
}

/** The remembered answer to one request: notes of its frame first, then lines in files of its hour. */
export interface Entry {
  readonly id: string;
  readonly body: string;
  readonly at: number;
  readonly answer: BatchAnswer;
}

/**
 * What is kept of an entry, in memory and in files. Its errors are rare and kept apart. The text begins with the Unix
 * milliseconds of the answer, followed by `body accepted rejected` or by the errors as JSON.
 */
export type Kept = readonly [id: string, text: string];

/** Of a SHA-256, enough against collisions. */
export const digestBytes = 16;
const digestLength = Math.ceil((digestBytes * 4) / 3);

export function entryOf(notes: Uint8Array): Entry {
  return JSON.parse(Buffer.from(notes).toString('utf8')) as Entry;
}

/** Without its errors if they are too many to keep. */
export function keptOf({ id, body, at, answer }: Entry): Kept[] {
  const { accepted, rejected, errors } = answer;
  const kept: Kept = [id, `${at} ${body} ${accepted} ${rejected}`];
  if (errors.length === 0) return [kept];
  const text = `${at} ${JSON.stringify(errors)}`;
  return text.length > limits.idempotencyPartBytesMax ? [kept] : [[id, text], kept];
}

export function hasErrors(text: string): boolean {
  return text.endsWith(']');
}

export function timeOf(text: string): number {
  return Number.parseInt(text, 10);
}

export function entryIn(id: string, text: string, errors: string | undefined): Entry {
  const [at, body = '', accepted, rejected] = text.split(' ');
  const isListed = rejected !== '0' && errors !== undefined;
  return {
    id,
    body,
    at: Number(at),
    answer: {
      accepted: Number(accepted),
      rejected: Number(rejected),
      errors: isListed ? (JSON.parse(errors.slice(errors.indexOf(' '))) as BatchAnswer['errors']) : [],
    },
  };
}

export const encodeLine = ([id, text]: Kept): string => checkedLine(`${id} ${text}`);

/** Undefined if the line is damaged. */
export function decodeLine(line: string): Kept | undefined {
  const kept = textOfLine(line);
  return kept === undefined ? undefined : [kept.slice(0, digestLength), kept.slice(digestLength + 1)];
}
