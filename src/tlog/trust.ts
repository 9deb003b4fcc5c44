import { type Checkpoint, parseCheckpoint } from './checkpoint.ts';
import {
  NoteError,
  parseNote,
  parseVerifierKey,
  publicKeyIn,
  type Signed,
  type Verifier,
  verifierKeyFor,
  verifyNote,
} from './note.ts';

/** A key of a log, and what the key before it said of it. */
export interface PublishedKey {
  /** 32 bytes. */
  readonly publicKey: Buffer;
  /** A signed note; empty for the first. */
  readonly statement: string;
}

/** What a key says of the one that follows it: its text, which is signed as a note. */
export function successionText(verifierKey: string): string {
  return `auditlog evidence: the next key\n${verifierKey}\n`;
}

/** Whether a trusted key has named this one as the next. */
function isNamed({ publicKey, statement }: PublishedKey, name: string, trusted: readonly Buffer[]): boolean {
  if (statement === '') return false;
  try {
    const note = parseNote(statement);
    verifyNote(
      note,
      trusted.map((one) => parseVerifierKey(verifierKeyFor(name, one))),
    );
    return note.text === successionText(verifierKeyFor(name, publicKey));
  } catch (error) {
    if (error instanceof NoteError) return false;
    throw error;
  }
}

/**
 * Whom an auditor believes: the keys that were given, those that these have named as their successors, and witnesses.
 * Origins are `<service>/<organization id>`; each log of a service has the same keys under its own name.
 */
export class Trust {
  readonly #publicKeys: Buffer[];
  readonly #witnesses: readonly Verifier[];

  constructor(keys: readonly string[], witnesses: readonly string[] = []) {
    this.#publicKeys = keys.map(publicKeyIn);
    this.#witnesses = witnesses.map(parseVerifierKey);
  }

  /** Trusts the keys that trusted ones have named; they come in the order in which they followed each other. */
  follow(service: string, published: readonly PublishedKey[]): void {
    for (const key of published)
      if (isNamed(key, service, this.#publicKeys)) this.#publicKeys.push(key.publicKey);
  }

  /** A checkpoint that a trusted key has signed, with all whom this knows of those that signed. Throws NoteError. */
  read(text: string): Checkpoint & { readonly signed: readonly Signed[] } {
    const checkpoint = parseCheckpoint(text);
    const log = this.#publicKeys.map((key) => parseVerifierKey(verifierKeyFor(checkpoint.origin, key)));
    const signed = verifyNote(checkpoint.note, [...log, ...this.#witnesses]);
    if (signed.some(({ seconds }) => seconds === undefined)) return { ...checkpoint, signed };
    throw new NoteError('the log itself has not signed this checkpoint');
  }
}
