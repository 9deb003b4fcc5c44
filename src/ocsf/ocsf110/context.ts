import { fromByteText, toByteText } from '../byte-text.ts';
import { kind, type SourceReading, slot } from '../source-fields.ts';

/**
 * Members of `extra` with attributes in the schema. `unmapped` has them as well, so only safe matches are
 * used.
 */

/** Digits of any signed 64-bit number. */
const longDigitsMax = 18;
const textCharactersMax = 4_096;

const sizeNames = ['"fileSize"', '"file_size"', '"size"'];
const privilegeNames = ['"privileges"', '"privilege"', '"permissions"', '"permission"', '"roles"', '"role"'];
const memberNames = ['"member"', '"memberEmail"', '"member_email"', '"user"', '"userEmail"', '"email"'];

function memberText(r: SourceReading, names: readonly string[]): string | undefined {
  if (r.kinds[slot.extra] !== kind.object) return undefined;
  const { extraMembers, extraLength, cursor, source } = r;
  const shift = source.start + cursor.shift;
  for (let at = extraLength - 4; at >= 0; at -= 4) {
    const [start, end] = [extraMembers[at] as number, extraMembers[at + 1] as number];
    const isNamed = names.some(
      (name) => name.length === end - start && cursor.text.startsWith(name, start + shift),
    );
    if (isNamed)
      return cursor.text.slice(
        (extraMembers[at + 2] as number) + shift,
        (extraMembers[at + 3] as number) + shift,
      );
  }
  return undefined;
}

/** In the digits sent. */
export function fileSizeOf(r: SourceReading): string | undefined {
  const text = memberText(r, sizeNames);
  return text !== undefined && text.length <= longDigitsMax && /^\d+$/.test(text) ? text : undefined;
}

export function privilegesOf(r: SourceReading): string | undefined {
  const text = memberText(r, privilegeNames);
  if (text === undefined || text.length > textCharactersMax) return undefined;
  const value: unknown = JSON.parse(fromByteText(text));
  const list = Array.isArray(value) ? value : [value];
  const isListOfNames = list.length > 0 && list.every((one) => typeof one === 'string' && one !== '');
  return isListOfNames ? toByteText(JSON.stringify(list)) : undefined;
}

/** The user added to or removed from a group. */
export function memberOf(r: SourceReading): string | undefined {
  const text = memberText(r, memberNames);
  if (text?.startsWith('"') !== true || text.length > textCharactersMax) return undefined;
  const value = JSON.parse(fromByteText(text)) as string;
  return value === '' ? undefined : toByteText(value);
}
