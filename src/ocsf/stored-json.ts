import type { Piece } from './byte-sink.ts';

/**
 * Whether both texts of an event are JSON: its rendering, as it will stand in an audit event, and its source. For
 * events that were changed on the way (redacted): what went wrong with one must not reach the log, where its readers
 * would find a page that is no JSON. The bytes are read as Latin-1, which alters no structure.
 */
export function areJson(ocsf: Piece, source: Piece): boolean {
  try {
    JSON.parse(`{${textOf(ocsf)}"":0}}`);
    JSON.parse(textOf(source));
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

function textOf({ bytes, start, end }: Piece): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1', start, end);
}
