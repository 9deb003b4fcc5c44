import { toReadable } from '../../base/byte-flow.ts';
import { bySequence, type Stretch } from '../../evidence/event-entries.ts';
import { type RenderedColumn, StoredRow, storedRowColumns } from '../../ingest/stored-row.ts';
import { Mapper, type MappedEvent } from '../../ocsf/audit-event.ts';
import type { Window } from '../../ocsf/byte-text.ts';
import type { Settings, Storage } from '../../storage/storage.ts';
import type { ErasureHistory } from '../../tlog/erasure.ts';
import { sha256 } from '../../tlog/hash.ts';
import { type Entry, entryAt, entryBytes, isEntryOf } from '../../tlog/entry.ts';
import { limits } from '../limits.ts';
import type { Throttle } from '../throttle.ts';
import { atPlace, type Report } from './report.ts';

/** As the parts have them, so that nothing is sorted or held; the entries have the order. */
const settings: Settings = {
  max_threads: 1,
  max_block_size: 1024,
  ...bySequence,
  output_format_parallel_formatting: 0,
};

interface RenderingOptions {
  readonly storage: Storage;
  /** Id of the organization. */
  readonly organization: string;
  /** The application that events name at present. */
  readonly appName: string;
  /** What source events may be now, other than the tree says. */
  readonly erasures: ErasureHistory;
  readonly throttle: Throttle;
}

/** An event of the tree that is shown otherwise. */
interface Shown {
  readonly position: number;
  readonly entry: Entry;
  readonly what: string;
}

/** Entries of the tree, and the place of the first one. */
interface Part {
  readonly entries: Buffer;
  readonly position: number;
}

/**
 * Renders each event once more from its source event, as ingest did, and compares every column that follows from it with
 * what is stored. Events whose source is not what the tree says are passed over: they are known to be altered.
 *
 * One thing in a row comes from the configuration of its time: the name of the application is taken over from the row,
 * and told where it is not today's.
 */
export class RenderingAudit {
  readonly #options: RenderingOptions;
  readonly #row = new StoredRow();
  readonly #mappers = new Map<string, Mapper>();
  /** Other names of the application, with how many events have each. */
  readonly #appNames = new Map<string, number>();
  #count = 0;
  #first: Shown | undefined;

  constructor(options: RenderingOptions) {
    this.#options = options;
  }

  /** The events of a stretch of the order, of which the tree has these entries. Rejects with EngineError. */
  async compare(part: Part, { from, before }: Stretch): Promise<void> {
    const { storage, organization, throttle } = this.#options;
    const flow = await storage.flow(
      `SELECT ${storedRowColumns} FROM events WHERE org = {organization:UUID} AND seq >= {from:UInt64}
       AND seq < {before:UInt64} FORMAT RowBinary`,
      { organization, from, before },
      { settings: { ...settings, ...throttle.settings() }, timeoutMs: limits.verifyRenderingSilenceMsMax },
    );
    let pieces: Buffer[] = [];
    let bytes = 0;
    let wanted: number = limits.verifyRenderingBytes;
    for await (const piece of toReadable(flow) as AsyncIterable<Buffer>) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes < wanted) continue;
      const rest = this.#take(Buffer.concat(pieces), part);
      if (rest.length > limits.verifyRowBytesMax)
        throw new Error(
          `the event with order number ${rest.readBigUInt64LE(0)} has more than ${limits.verifyRowBytesMax} bytes in the table: no event is shown so`,
        );
      pieces = [rest];
      bytes = rest.length;
      // A long row is joined a few times, not for each piece of it.
      wanted = bytes + Math.max(bytes, limits.verifyRenderingBytes);
    }
    if (this.#take(Buffer.concat(pieces), part).length > 0)
      throw new Error('the engine has sent a row that is cut short');
  }

  get findings(): Report['findings'] {
    if (this.#first === undefined) return [];
    const { position, entry, what } = this.#first;
    return [atPlace('altered', position, entry, `${what}; in all ${this.#count} shown otherwise`)];
  }

  get notes(): string[] {
    return [...this.#appNames].map(
      ([name, count]) =>
        `${count} events name the application ${JSON.stringify(name)} and not ${JSON.stringify(this.#options.appName)} (APP_NAME), which no source event proves`,
    );
  }

  /** Looks at the rows that are whole; returns the bytes behind them. */
  #take(bytes: Buffer, part: Part): Buffer {
    // Not a Buffer: cutting one is several times as expensive.
    const view = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    const window = { text: bytes.toString('latin1'), bytes: view };
    let at = 0;
    for (let end = this.#row.read(view, 0); end !== undefined; end = this.#row.read(view, at)) {
      this.#examine(window, part);
      at = end;
    }
    return bytes.subarray(at);
  }

  #examine(window: Window, part: Part): void {
    const mapped = this.#map(window, this.#options.appName);
    const differing = typeof mapped === 'string' ? mapped : this.#row.differingFrom(mapped);
    if (differing.length === 0) return;
    const { entries, position } = part;
    const place = placeOf(entries, this.#row.seq);
    if (place === undefined || !this.#isKnown(entries, place, window)) return;
    const least = typeof differing === 'string' ? differing : this.#leastOf(window, differing);
    if (least.length === 0) return;
    this.#count += 1;
    if (this.#first !== undefined && this.#first.position < position + place) return;
    const what =
      typeof least === 'string'
        ? `cannot be shown from its source event (${least})`
        : `is shown otherwise than it was recorded: column ${least.join(', ')}`;
    this.#first = { position: position + place, entry: entryAt(entries, place), what };
  }

  /** Whether the source event is what the tree says, or what an erasure has left of it. */
  #isKnown(entries: Buffer, place: number, window: Window): boolean {
    const source = window.bytes.subarray(...this.#row.source);
    if (isEntryOf(entries, place, source)) return true;
    return this.#options.erasures.allows(entryAt(entries, place), sha256(source));
  }

  /** The columns that differ, under the name of the application that is shown where these are fewer. */
  #leastOf(window: Window, differing: RenderedColumn[]): RenderedColumn[] {
    const { appName } = this.#options;
    const shownName = appNameIn(this.#row.ocsf());
    if (shownName === undefined || shownName === appName) return differing;
    const mapped = this.#map(window, shownName);
    const columns = typeof mapped === 'string' ? differing : this.#row.differingFrom(mapped);
    if (columns.length === 0) this.#appNames.set(shownName, (this.#appNames.get(shownName) ?? 0) + 1);
    return columns.length < differing.length ? columns : differing;
  }

  /** The event that the source makes, or why it makes none. */
  #map(window: Window, appName: string): MappedEvent | string {
    let mapper = this.#mappers.get(appName);
    if (mapper === undefined) {
      if (this.#mappers.size >= limits.verifyAppNamesMax) return 'the application has too many names';
      // What had to be redacted has been, by the list of its time.
      mapper = new Mapper({ appName });
      this.#mappers.set(appName, mapper);
    }
    return mapper.mapStored(window, ...this.#row.source, {
      id: this.#options.organization,
      retentionDays: undefined,
    });
  }
}

/** Where among entries the one with an order number is. */
function placeOf(entries: Buffer, seq: bigint): number | undefined {
  let [from, to] = [0, entries.length / entryBytes];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    const found = entries.readBigUInt64BE(middle * entryBytes);
    if (found === seq) return middle;
    if (found < seq) from = middle + 1;
    else to = middle;
  }
  return undefined;
}

/** The first of its kind is no text of a producer: in a string the quotes would have backslashes. */
const appNamePattern = /"actor":\{"app_name":("(?:[^"\\]|\\.)*")/;

/** The name of the application that a stored rendering has; undefined where it has none. */
export function appNameIn(ocsf: string): string | undefined {
  const [, text] = appNamePattern.exec(ocsf) ?? [];
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as string;
  } catch (error) {
    // Somebody has written what no service writes: there is no name to take over.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
