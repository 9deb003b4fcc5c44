import { writersMax } from '../base/events/sequence.ts';
import { Lease } from './lease.ts';
import { everyReplicaOf, everywhere } from './cluster.ts';
import type { Storage } from './storage.ts';

const writerLeaseDays = 7;

const writerLeases = 'writer ';

/**
 * A lease on a number in the order of ingest. It outlives its process, as the events of a log have the
 * number.
 */
const writerLease = (storage: Storage, instance: string, id: number): Lease =>
  new Lease({
    storage,
    name: `${writerLeases}${id}`,
    owner: instance,
    lastsMs: writerLeaseDays * 24 * 3_600_000,
    endsWithProcess: false,
  });

/**
 * The writer number (0 to `numbers` - 1) of a data directory: its last one, or else a free one. The loser of
 * a race tries the next.
 */
export async function takeWriter(
  storage: Storage,
  instance: string,
  numbers: number,
): Promise<{ readonly id: number; readonly lease: Lease }> {
  for (;;) {
    const taken = await storage.rows<{ id: number; owner: string; held: boolean }>(
      `SELECT toUInt8(substring(l.name, {from:UInt8})) AS id, toString(l.owner) AS owner, argMax(l.held, version) AS held
       FROM ${everyReplicaOf(storage, 'leases')} AS l
       WHERE startsWith(l.name, {prefix:String}) GROUP BY l.name, l.owner
       HAVING argMax(addMilliseconds(seen, lasts), version) > now64(3) ORDER BY id`,
      { prefix: writerLeases, from: writerLeases.length + 1 },
      { settings: everywhere },
    );
    const own = taken.find(({ owner, held }) => held && owner === instance);
    const free = [...Array(numbers).keys()].find(
      (id) => !taken.some((one) => one.id === id && one.owner !== instance),
    );
    const id = own?.id ?? free;
    if (id === undefined) throw new Error(`All ${numbers} writer numbers of this engine are in use`);
    const lease = writerLease(storage, instance, id);
    if (await lease.take()) return { id, lease };
  }
}

export class WriterNumber {
  readonly #storage: Storage;
  readonly #instance: string;
  #lease: Lease | undefined;
  id = 0;

  constructor(storage: Storage, instance: string) {
    this.#storage = storage;
    this.#instance = instance;
  }

  /** The last number, unless it expired. Rejects with EngineError, and if all are in use. */
  async take(): Promise<void> {
    // The last number is for commands that record beside a server.
    const { id, lease } = await takeWriter(this.#storage, this.#instance, writersMax - 1);
    this.#lease = lease;
    this.id = id;
  }

  async renew(): Promise<void> {
    await this.#lease?.take();
  }
}
