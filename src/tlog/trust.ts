import { type Checkpoint, parseCheckpoint } from './checkpoint.ts';
import {
  NoteError,
  parseNote,
  parseVerifierKey,
  publicKeyIn,
  type Verifier,
  verifierKeyFor,
  verifyNote,
} from './note.ts';

export interface PublishedKey {
  readonly publicKey: Buffer;
  /** A signed note; empty for the first. */
  readonly statement: string;
}

/** Signed as a note by the previous key. */
export function successionText(verifierKey: string): string {
  return `auditlog evidence: the next key\n${verifierKey}\n`;
}

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

interface NamedKey {
  readonly name: string;
  readonly publicKey: Buffer;
}

/** Whether an origin is the log `name`, or one of the service `name`. */
const isOf = (origin: string, name: string): boolean => origin === name || origin.startsWith(`${name}/`);

/**
 * The auditor's keys, and successors that they named. A key is trusted only for its log
 * `<service>/<organization id>`; otherwise one organization's evidence would pass for another's.
 */
export class Trust {
  readonly #keys: NamedKey[];

  constructor(keys: readonly string[]) {
    this.#keys = keys.map((key) => ({ name: parseVerifierKey(key).name, publicKey: publicKeyIn(key) }));
  }

  /** Trusts successors of trusted keys, in their order. */
  follow(service: string, published: readonly PublishedKey[]): void {
    for (const key of published) {
      const { publicKey } = key;
      const by = this.#keys.filter(
        (one) => isOf(one.name, service) && isNamed(key, service, [one.publicKey]),
      );
      for (const name of new Set(by.map((one) => one.name))) this.#keys.push({ name, publicKey });
    }
  }

  /** Throws a NoteError if all keys belong to other logs. */
  keysOf(origin: string): readonly Verifier[] {
    const own = this.#keys.filter(({ name }) => isOf(origin, name));
    if (own.length > 0)
      return own.map(({ publicKey }) => parseVerifierKey(verifierKeyFor(origin, publicKey)));
    const names = [...new Set(this.#keys.map(({ name }) => name))].join(' and ');
    throw new NoteError(
      `the key is one of ${names}, and this is evidence of ${origin}: another organization's`,
    );
  }

  /** Verifies the signature of a trusted key. Throws NoteError. */
  read(text: string): Checkpoint {
    const checkpoint = parseCheckpoint(text);
    verifyNote(checkpoint.note, this.keysOf(checkpoint.origin));
    return checkpoint;
  }
}
