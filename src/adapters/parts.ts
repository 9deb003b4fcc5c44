import { toWindow } from '../ocsf/byte-text.ts';
import type { RawMembers, RecordReader } from './members.ts';
import { splitElements } from './records.ts';

/** Events of one record; the last keeps the rest of its list. */
const eventsOfRecordMax = 100;
/** Each event repeats the record's shared part; the total of all repeats stays below this. */
const sharedBytesMax = 64 * 1024;

/**
 * The record once for each element of the list at a path, with that element alone in the list. Beyond the
 * bounds the last event keeps the rest, so nothing is lost. A record with fewer than two elements is itself.
 */
export function partsOf(
  text: string,
  members: RawMembers,
  path: readonly string[],
  reader: RecordReader,
): readonly string[] {
  // Most records have no such list: this avoids reading them.
  if (!text.includes(`"${path.at(-1)}"`)) return [text];
  const outer = [members];
  for (const name of path.slice(0, -1)) {
    const inner = readMembers(outer.at(-1)?.get(name), reader);
    if (inner === undefined) return [text];
    outer.push(inner);
  }
  const list = outer.at(-1)?.get(path.at(-1) ?? '') ?? '';
  const elements = splitElements(list);
  if (elements.length < 2) return [text];
  const copies = Math.floor(sharedBytesMax / (text.length - list.length));
  const last = Math.min(eventsOfRecordMax, 1 + copies) - 1;
  const lists = elements.slice(0, last).map((element) => `[${element}]`);
  if (elements.length > last) lists.push(`[${elements.slice(last).join(',')}]`);
  return lists.map((own) =>
    outer.reduceRight((value, level, depth) => withValue(level, path[depth] ?? '', value), own),
  );
}

function readMembers(value: string | undefined, reader: RecordReader): RawMembers | undefined {
  const window = toWindow(value ?? 'null');
  const members = reader.read(window, 0, window.bytes.length);
  return typeof members === 'string' ? undefined : members;
}

function withValue(members: RawMembers, name: string, value: string): string {
  const all = [...members].map(([one, own]) => `${JSON.stringify(one)}:${one === name ? value : own}`);
  return `{${all.join(',')}}`;
}
