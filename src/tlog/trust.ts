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
  /** 32 bytes. */
  readonly publicKey: Buffer;
  /** A signed note; empty for the first. */
  readonly statement: string;
}

/** The text by which a key names its successor, signed as a note. */
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

interface NamedKey {
  readonly name: string;
  readonly publicKey: Buffer;
}

/** Whether an origin is a log, or one of a service. */
const isOf = (origin: string, name: string): boolean => origin === name || origin.startsWith(`${name}/`);

/**
 * The keys that an auditor was given, and successors that these named. A key is trusted for the log
 * `<service>/<organization id>` that it names only: else one organization's evidence would pass for another's.
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

  /** Throws a NoteError if all keys are of other logs. */
  keysOf(origin: string): readonly Verifier[] {
    const own = this.#keys.filter(({ name }) => isOf(origin, name));
    if (own.length > 0)
      return own.map(({ publicKey }) => parseVerifierKey(verifierKeyFor(origin, publicKey)));
    const names = [...new Set(this.#keys.map(({ name }) => name))].join(' and ');
    throw new NoteError(
      `the key is one of ${names}, and this is evidence of ${origin}: another organization's`,
    );
  }

  /** A checkpoint that a trusted key has signed. Throws NoteError. */
  read(text: string): Checkpoint {
    const checkpoint = parseCheckpoint(text);
    verifyNote(checkpoint.note, this.keysOf(checkpoint.origin));
    return checkpoint;
  }
}
