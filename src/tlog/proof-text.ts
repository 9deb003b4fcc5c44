import { hashBytes } from './hash.ts';
import { NoteError } from './note.ts';

/** A proof of inclusion without leaf and key (C2SP tlog-proof). */
export interface ProofText {
  readonly index: number;
  readonly hashes: readonly Uint8Array[];
  readonly checkpoint: string;
}

const head = 'c2sp.org/tlog-proof@v1\n';

export function proofText({ index, hashes, checkpoint }: ProofText): string {
  const lines = hashes.map((hash) => `${Buffer.from(hash).toString('base64')}\n`).join('');
  return `${head}index ${index}\n${lines}\n${checkpoint}`;
}

/** Throws NoteError. Unsigned extra lines are skipped. */
export function parseProofText(text: string): ProofText {
  const border = text.indexOf('\n\n');
  const lines = text.slice(head.length, border).split('\n');
  if (lines[0]?.startsWith('extra ') === true) lines.shift();
  const index = Number(/^index (0|[1-9]\d*)$/.exec(lines.shift() ?? '')?.[1] ?? Number.NaN);
  const hashes = lines.map((line) => Buffer.from(line, 'base64'));
  const isProof = text.startsWith(head) && border > 0 && Number.isSafeInteger(index);
  if (!isProof || hashes.some(({ length }) => length !== hashBytes)) throw new NoteError('this is no proof');
  return { index, hashes, checkpoint: text.slice(border + 2) };
}
