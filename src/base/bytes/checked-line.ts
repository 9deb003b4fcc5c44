import { crc32c } from '@node-rs/crc32';

/** A line that begins with the CRC-32C of the rest. */
export function checkedLine(text: string): string {
  return `${crc32c(text).toString(16).padStart(8, '0')} ${text}\n`;
}

/** The text of a line without its line feed; undefined if the line is damaged. */
export function textOfLine(line: string): string | undefined {
  const text = line.slice(9);
  const isIntact = text !== '' && crc32c(text) === Number.parseInt(line.slice(0, 8), 16);
  return isIntact ? text : undefined;
}

export function encodeValue(value: unknown): Buffer {
  return Buffer.from(checkedLine(JSON.stringify(value)));
}

/** Of the first line: a longer one may have been there before. Undefined if it is damaged. */
export function decodeValue(file: Buffer): unknown {
  const text = textOfLine(file.toString('utf8').split('\n', 1)[0] as string);
  return text === undefined ? undefined : JSON.parse(text);
}
