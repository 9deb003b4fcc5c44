import { hashBytes } from './hash.ts';
import { type Note, NoteError, parseNote } from './note.ts';

/** The head of a log (C2SP tlog-checkpoint). */
export interface TreeHead {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
}

export interface Checkpoint extends TreeHead {
  readonly note: Note;
  readonly text: string;
}

export function checkpointText({ origin, size, root }: TreeHead): string {
  return `${origin}\n${size}\n${Buffer.from(root).toString('base64')}\n`;
}

/** Does not verify signatures; throws NoteError. */
export function parseCheckpoint(text: string): Checkpoint {
  const note = parseNote(text);
  const [origin = '', sizeText = '', rootText = '', ...rest] = note.text.split('\n');
  const root = Buffer.from(rootText, 'base64');
  const size = Number(sizeText);
  const isSize = /^(?:0|[1-9]\d*)$/.test(sizeText) && Number.isSafeInteger(size);
  const isRoot = root.length === hashBytes && root.toString('base64') === rootText;
  const isEnded = rest.pop() === '' && !rest.includes('');
  if (origin === '' || !isSize || !isRoot || !isEnded) throw new NoteError('this is no checkpoint');
  return { origin, size, root, note, text };
}
