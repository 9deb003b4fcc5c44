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

interface NamedKey {
  /** The name of a log, or of a service for all of its logs. */
  readonly name: string;
  readonly publicKey: Buffer;
}

/** Whether a log is the one of a name, or one of the service of that name. */
const isOf = (origin: string, name: string): boolean => origin === name || origin.startsWith(`${name}/`);

/**
 * Whom an auditor believes: the keys that were given, and those that these have named as their successors.
 * Origins are `<service>/<organization id>`; each log of a service has the same keys under its own name. So a key is
 * believed for the log that it names: else one organization's evidence would pass for that of another.
 */
export class Trust {
  readonly #keys: NamedKey[];

  constructor(keys: readonly string[]) {
    this.#keys = keys.map((key) => ({ name: parseVerifierKey(key).name, publicKey: publicKeyIn(key) }));
  }

  /** Trusts the keys that trusted ones have named; they come in the order in which they followed each other. */
  follow(service: string, published: readonly PublishedKey[]): void {
    for (const key of published) {
      const { publicKey } = key;
      const by = this.#keys.filter(
        (one) => isOf(one.name, service) && isNamed(key, service, [one.publicKey]),
      );
      for (const name of new Set(by.map((one) => one.name))) this.#keys.push({ name, publicKey });
    }
  }

  /** The keys of a log. Throws a NoteError where all are those of others. */
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
