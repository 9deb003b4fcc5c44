import type { Storage } from '../../src/storage/storage.ts';
import type { Recorder } from '../read/support.ts';

/** A source event of the service, as far as tests look at it. */
export interface OwnEvent {
  readonly time: string;
  readonly message: { readonly action: number; readonly org: string };
}

/** The last place of the journal behind a given one, and the JSON of the events of changes between them. */
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

/** Puts the events of changes into the table, as a server does: of one organization, of changes behind a place of the journal. */
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

  /** Resolves with the events of changes that were made since the last call. */
  async hand(): Promise<OwnEvent[]> {
    const { place, texts } = await eventsBehind(this.#storage, this.#place);
    this.#place = place;
    const all = texts.map((text) => JSON.parse(text) as OwnEvent);
    const events = all.filter(({ message }) => message.org === this.#organization);
    if (events.length > 0) await this.#record(this.#organization, events, { own: true });
    return events;
  }
}
