import { fromByteText, toByteText } from '../byte-text.ts';
import { textSlice } from '../json-cursor.ts';
import { kind, type SourceReading, slot, textOf } from '../source-fields.ts';
import type { Output, Range } from './output.ts';

/** A token is the inside of a JSON string of the source, so it is copied between quotes unchanged. */

/** OCSF's bound of a string, characters. */
const stringCharactersMax = 65_535;

export const has = (r: SourceReading, at: number): boolean => r.kinds[at] !== kind.absent;

export function isText(r: SourceReading, at: number): boolean {
  const what = r.kinds[at];
  return what === kind.text || what === kind.escaped;
}

export function textIn(r: SourceReading, at: number): string | undefined {
  return isText(r, at) ? textOf(r, at) : undefined;
}

export function plainOr(r: SourceReading, own: number, member: number): number {
  return isText(r, own) ? own : member;
}

export function firstText(r: SourceReading, ...slots: readonly number[]): number {
  for (const at of slots) if (isText(r, at)) return at;
  return -1;
}

/** `message.timestamp` before `time`. */
export const timeSlotOf = (r: SourceReading): number => (has(r, slot.timestamp) ? slot.timestamp : slot.time);

export function isLong({ starts, ends }: SourceReading, at: number): boolean {
  return (ends[at] as number) - (starts[at] as number) > stringCharactersMax;
}

export function putToken(out: Output, r: SourceReading, at: number): void {
  const start = r.starts[at] as number;
  const end = r.ends[at] as number;
  if (isLong(r, at)) out.text(clipped(textSlice(r.cursor, start, end)));
  else out.range(start, end);
}

/** `opening` ends in a quote. Writes nothing for an empty slot. */
export function putMember(out: Output, r: SourceReading, at: number, opening: Range): void {
  if (!isText(r, at)) return;
  out.put(opening);
  putToken(out, r, at);
  out.quote();
}

export function putRaw(out: Output, r: SourceReading, at: number): void {
  const edge = isText(r, at) ? 1 : 0;
  out.range((r.starts[at] as number) - edge, (r.ends[at] as number) + edge);
}

export function clipped(token: string): string {
  if (token.length <= stringCharactersMax) return token;
  const value = JSON.parse(fromByteText(`"${token}"`)) as string;
  if (value.length <= stringCharactersMax) return token;
  const last = value.charCodeAt(stringCharactersMax - 1);
  // Never between the halves of a surrogate pair.
  const end = last >= 0xd800 && last <= 0xdbff ? stringCharactersMax - 1 : stringCharactersMax;
  return toByteText(JSON.stringify(value.slice(0, end)).slice(1, -1));
}
