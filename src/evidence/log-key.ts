import type { Storage } from '../storage/storage.ts';
import { successionText } from '../tlog/trust.ts';
import { createSigner, publicKeyOfSeed, type Signer, verifierKeyFor } from '../tlog/note.ts';

/** The key that signs checkpoints, as it is given to this process. */
export interface KeyPair {
  /** Name of the service. */
  readonly name: string;
  /** 32 bytes, the private key of Ed25519. */
  readonly seed: Buffer;
  /** The seed of the key that this one replaces, where the operator has put it beside. */
  readonly previousSeed: Buffer | undefined;
}

/** A public key that signs, or has signed, checkpoints. */
export interface PublishedKey {
  /** Base64 of its 32 bytes. */
  readonly key: string;
  /** A signed note by the key before it; empty for the first. */
  readonly statement: string;
  /** Unix microseconds by the engine's clock; after those of the key before it. */
  readonly addedMicros: number;
}

/** Another key signs the trees in this engine. */
export class ForeignKeyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ForeignKeyError';
  }
}

/** All keys, the first one first. Rejects with EngineError. */
export async function readKeys(storage: Storage): Promise<PublishedKey[]> {
  const rows = await storage.readRows<{ key: string; statement: string; added: string }>(
    `SELECT key, argMax(statement, t.added) AS statement, toUnixTimestamp64Micro(min(t.added)) AS added
     FROM evidence_keys AS t GROUP BY key ORDER BY added`,
  );
  return rows.map(({ key, statement, added }) => ({ key, statement, addedMicros: Number(added) }));
}

const publicText = (seed: Buffer): string => publicKeyOfSeed(seed).toString('base64');

/** Signs checkpoints. Whoever trusts the first key is led to this one. */
export class LogKey {
  readonly #pair: KeyPair;
  #isPublished = false;

  constructor(pair: KeyPair) {
    this.#pair = pair;
  }

  /** The name of the log of an organization: the first line of its checkpoints, and the name of the key for it. */
  originOf(organization: string): string {
    return `${this.#pair.name}/${organization}`;
  }

  signerOf(organization: string): Signer {
    return createSigner(this.originOf(organization), this.#pair.seed);
  }

  /** The key for an organization's log that a public key makes, as verifiers are given it. */
  verifierKeyOf(organization: string, published: PublishedKey): string {
    return verifierKeyFor(this.originOf(organization), Buffer.from(published.key, 'base64'));
  }

  /**
   * Makes this key one of those that are published: as the first, or signed by the last. Rejects with ForeignKeyError
   * where it can be neither, and with EngineError.
   */
  async publish(storage: Storage): Promise<void> {
    if (this.#isPublished) return;
    const { name, seed, previousSeed } = this.#pair;
    const keys = await readKeys(storage);
    const own = publicText(seed);
    const { key: last, addedMicros = 0 } = keys.at(-1) ?? {};
    if (last !== own) {
      if (keys.some(({ key }) => key === own))
        throw new ForeignKeyError('the key of this server has been replaced: give it the newest one');
      if (last !== undefined && (previousSeed === undefined || publicText(previousSeed) !== last))
        throw new ForeignKeyError(
          'another key signs the evidence here: give this server that one, or beside its own as the previous',
        );
      const statement =
        previousSeed === undefined || last === undefined
          ? ''
          : createSigner(name, previousSeed).sign(successionText(createSigner(name, seed).verifierKey));
      // Keys are known in the order of their times, so this one is later also where the engine's clock was set back.
      await storage.command(
        `INSERT INTO evidence_keys SELECT {own:String}, {statement:String},
           greatest(now64(6), fromUnixTimestamp64Micro({after:Int64}))`,
        { own, statement, after: addedMicros + 1 },
      );
    }
    this.#isPublished = true;
  }
}
