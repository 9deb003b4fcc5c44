import type { Storage } from '../../src/storage/storage.ts';
import type { Recorder } from '../read/support.ts';

/** The members of a service event that tests read. */
export interface OwnEvent {
  readonly time: string;
  readonly message: { readonly action: number; readonly org: string };
}

/** The newest position after a given one, and the JSON of the events between. */
export async function eventsBehind(
  storage: Storage,
  place: number,
): Promise<{ readonly place: number; readonly texts: readonly string[] }> {
  const rows = await storage.rows<{ at: string; events: string }>(
    `SELECT toString(place) AS at, events FROM journal WHERE place > {place:UInt64} ORDER BY place`,
    { place },
  );
  const texts = rows.flatMap(({ events }) => (events === '' ? [] : (JSON.parse(events) as string[])));
  return { place: Number(rows.at(-1)?.at ?? place), texts };
}

/** Stores the events of an organization's changes in the table, as a server does. */
export class JournalEvents {
  readonly #storage: Storage;
  readonly #record: Recorder;
  readonly #organization: string;
  #place: number;

  constructor(storage: Storage, record: Recorder, organization: string, place = 0) {
    this.#storage = storage;
    this.#record = record;
    this.#organization = organization;
    this.#place = place;
  }

  /** Resolves with the events of changes since the last call. */
  async hand(): Promise<OwnEvent[]> {
    const { place, texts } = await eventsBehind(this.#storage, this.#place);
    this.#place = place;
    const all = texts.map((text) => JSON.parse(text) as OwnEvent);
    const events = all.filter(({ message }) => message.org === this.#organization);
    if (events.length > 0) await this.#record(this.#organization, events, { own: true });
    return events;
  }
}
