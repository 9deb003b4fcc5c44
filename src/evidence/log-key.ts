import type { Storage } from '../storage/storage.ts';
import { successionText } from '../tlog/trust.ts';
import { createSigner, publicKeyOfSeed, type Signer, verifierKeyFor } from '../tlog/note.ts';

export interface KeyPair {
  readonly name: string;
  readonly seed: Buffer;
  /** The seed of the replaced key, if the operator provides it. */
  readonly previousSeed: Buffer | undefined;
}

export interface PublishedKey {
  readonly key: string;
  /** A signed note by the key before it; empty for the first. */
  readonly statement: string;
  /** By the engine's clock; after the key before it. */
  readonly addedMicros: number;
}

export class ForeignKeyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ForeignKeyError';
  }
}

export async function readKeys(storage: Storage): Promise<PublishedKey[]> {
  const rows = await storage.readRows<{ key: string; statement: string; added: string }>(
    `SELECT key, argMax(statement, t.added) AS statement, toUnixTimestamp64Micro(min(t.added)) AS added
     FROM evidence_keys AS t GROUP BY key ORDER BY added`,
  );
  return rows.map(({ key, statement, added }) => ({ key, statement, addedMicros: Number(added) }));
}

const publicText = (seed: Buffer): string => publicKeyOfSeed(seed).toString('base64');

/** The first key leads verifiers to this one. */
export class LogKey {
  readonly #pair: KeyPair;
  #isPublished = false;

  constructor(pair: KeyPair) {
    this.#pair = pair;
  }

  /** First line of an organization's checkpoints, and name of its key. */
  originOf(organization: string): string {
    return `${this.#pair.name}/${organization}`;
  }

  signerOf(organization: string): Signer {
    return createSigner(this.originOf(organization), this.#pair.seed);
  }

  verifierKeyOf(organization: string, published: PublishedKey): string {
    return verifierKeyFor(this.originOf(organization), Buffer.from(published.key, 'base64'));
  }

  /** As the first key, or signed by the last. Rejects with ForeignKeyError if it can be neither, and with EngineError. */
  async publish(storage: Storage): Promise<void> {
    if (this.#isPublished) return;
    const { name, seed, previousSeed } = this.#pair;
    const keys = await readKeys(storage);
    const own = publicText(seed);
    const { key: last, addedMicros = 0 } = keys.at(-1) ?? {};
    if (last !== own) {
      if (keys.some(({ key }) => key === own))
        throw new ForeignKeyError('The evidence key of this server has been replaced; set the newest one');
      if (last !== undefined && (previousSeed === undefined || publicText(previousSeed) !== last))
        throw new ForeignKeyError(
          'Another key signs the evidence here; set that key, or provide it as the previous one',
        );
      const statement =
        previousSeed === undefined || last === undefined
          ? ''
          : createSigner(name, previousSeed).sign(successionText(createSigner(name, seed).verifierKey));
      // Keys are ordered by time, so this one must be later even if the engine's clock was set back.
      await storage.command(
        `INSERT INTO evidence_keys SELECT {own:String}, {statement:String},
           greatest(now64(6), fromUnixTimestamp64Micro({after:Int64}))`,
        { own, statement, after: addedMicros + 1 },
      );
    }
    this.#isPublished = true;
  }
}
