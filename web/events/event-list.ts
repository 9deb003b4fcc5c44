import { batch, signal } from '@preact/signals';
import { fromRfc3339, toRfc3339 } from '../api/instant.ts';
import { get, getStream, jsonOf, type Parameters, RequestError } from '../api/request.ts';
import { Resource } from '../api/resource.ts';
import type { Row, Rows } from '../api/types.ts';
import { limits } from './limits.ts';

export const rowsPath = '/api/v1/portal/rows';

/** Names an event in links: `2026-05-12T09:30:00.250118Z~4629700416936869888`. */
export function placeText({ time, seq }: Pick<Row, 'time' | 'seq'>): string {
  return `${toRfc3339(time)}~${seq}`;
}

interface Run {
  readonly first: number;
  readonly rows: readonly Row[];
}

/** Rows of one query, newest first: one run, extended from its ends by keyset, so new events cause no duplicates. */
export class EventList {
  readonly ignored: readonly string[];
  /** Events of this query at or above the settled order number when the list began. */
  readonly counted: Pick<Rows['meta'], 'settled' | 'unsettled'>;
  /** Number of the first row to show, if a place was given. */
  start = 0;
  /** Called with the number of rows added above the visible ones. */
  onMoved: (rows: number) => void = () => {};
  readonly loading = new Resource<void>();
  readonly #parameters = signal<Parameters>({});
  readonly #total = signal(0);
  readonly #run = signal<Run>({ first: 0, rows: [] });
  readonly #searchedBackTo = signal<string | undefined>(undefined);
  #wanted = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waitsSince = 0;

  private constructor(parameters: Parameters, { data, meta }: Rows, ignored: readonly string[]) {
    const [newest] = data;
    const endTime = parameters['endTime'] ?? (newest && toRfc3339(newest.time));
    this.ignored = ignored;
    this.counted = meta;
    this.#parameters.value = { ...parameters, endTime };
    this.#searched(meta);
    this.#total.value = meta.total;
    this.#run.value = { first: 0, rows: data };
  }

  /** Loads the newest rows, or those around a place. Rejects as requests do. */
  static async begin(
    parameters: Parameters,
    place: string | undefined,
    abort: AbortSignal,
  ): Promise<EventList> {
    const response = await getStream(
      rowsPath,
      { ...parameters, limit: limits.pageEvents },
      { signal: abort },
    );
    const ignored = response.headers.get('ignored-parameters')?.split(', ') ?? [];
    const list = new EventList(parameters, await jsonOf<Rows>(rowsPath, response, abort), ignored);
    if (place !== undefined) list.start = await list.indexOf(place, abort);
    return list;
  }

  get total(): number {
    return this.#total.value;
  }

  /** Parameters that match exactly these events, including the end of the range. */
  get parameters(): Parameters {
    return this.#parameters.value;
  }

  /** Earliest time searched for words (RFC 3339); undefined if the whole range was searched. */
  get searchedBackTo(): string | undefined {
    return this.#searchedBackTo.value;
  }

  /** Searches further back, to `startTime`. Rejects as requests do. */
  async searchOn(startTime: Parameters[string], abort: AbortSignal): Promise<void> {
    const parameters = { ...this.parameters, startTime, endTime: this.searchedBackTo, limit: 1 };
    const { meta } = await get<Rows>(rowsPath, parameters, { signal: abort });
    batch(() => {
      this.#parameters.value = { ...this.parameters, startTime };
      this.#searched(meta);
      this.#total.value += meta.total;
    });
  }

  get first(): number {
    return this.#run.value.first;
  }

  get rows(): readonly Row[] {
    return this.#run.value.rows;
  }

  at(index: number): Row | undefined {
    const { first, rows } = this.#run.value;
    return rows[index - first];
  }

  find(place: string): Row | undefined {
    return this.#run.value.rows.find((row) => placeText(row) === place);
  }

  /** The number of the event at a place, or of the next older one, and loads its neighbours. Rejects as requests do. */
  async indexOf(place: string, abort: AbortSignal): Promise<number> {
    const { first, rows } = this.#run.value;
    const known = rows.findIndex((row) => placeText(row) === place);
    if (known >= 0) return first + known;
    const [older, newer] = await Promise.all(
      ['from', 'after'].map((side) => this.#ask({ [side]: place, limit: limits.pageEvents }, abort)),
    );
    if (older === undefined || newer === undefined) throw new Error('unreachable');
    const index = newer.meta.total;
    batch(() => {
      this.#run.value = { first: index - newer.data.length, rows: [...newer.data, ...older.data] };
      if (!isPart(newer) && !isPart(older)) this.#total.value = index + older.meta.total;
    });
    return Math.max(0, Math.min(index, this.total - 1));
  }

  /** Rows `first` to `last` are visible: missing ones are requested once scrolling stops. */
  show(first: number, last: number): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    if (this.#waitsSince === 0) this.#waitsSince = now;
    const wait = Math.min(limits.settleMs, Math.max(0, this.#waitsSince + limits.settleMsMax - now));
    this.#timer = setTimeout(() => {
      this.#waitsSince = 0;
      this.#want(first - limits.aheadRows, last + limits.aheadRows);
    }, wait);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.loading.stop();
  }

  /** Later pages cover the range searched first, however far their own search comes. */
  #searched({ searched_back_to: text }: Rows['meta']): void {
    const back = fromRfc3339(text ?? '');
    this.#searchedBackTo.value = text;
    if (back !== undefined) this.#parameters.value = { ...this.parameters, startTime: toRfc3339(back + 1) };
  }

  #ask(parameters: Parameters, abort: AbortSignal): Promise<Rows> {
    return get<Rows>(rowsPath, { ...this.parameters, ...parameters }, { signal: abort });
  }

  #want(first: number, last: number): void {
    const from = Math.max(0, first);
    const to = Math.min(last, this.total - 1);
    const { first: begin, rows } = this.#run.value;
    const isHere = from >= begin && to < begin + rows.length;
    // One request loads a whole stretch of rows, so it is made once for each stretch.
    const wanted = isHere ? '' : [from, to].map((row) => Math.floor(row / limits.aheadRows)).join();
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    if (isHere) return this.loading.stop();
    void this.loading.load(async (abort) => {
      await this.#fill(from, to, abort);
      this.#wanted = '';
    });
    return undefined;
  }

  async #fill(from: number, to: number, abort: AbortSignal): Promise<void> {
    const { first, rows } = this.#run.value;
    const end = first + rows.length;
    const isNear = from <= end + limits.pageEvents && to >= first - limits.pageEvents;
    if (!isNear) {
      const page = { offset: from, limit: Math.max(limits.pageEvents, to + 1 - from) };
      const { data, meta } = await this.#ask(page, abort);
      this.#keep({ first: from, rows: data }, isPart({ data, meta }) ? this.total : meta.total);
    } else if (from < first) await this.#addNewer(first - from, abort);
    else if (to >= end) await this.#addOlder(to + 1 - end, abort);
  }

  /** Other rows that arrived above are counted, and move those below. */
  async #addNewer(count: number, abort: AbortSignal): Promise<void> {
    const { first, rows } = this.#run.value;
    const [top] = rows;
    if (top === undefined) return;
    const after = { after: placeText(top), limit: Math.max(limits.pageEvents, count) };
    const { data, meta } = await this.#ask(after, abort);
    const moved = meta.total - first;
    const run = { first: meta.total - data.length, rows: [...data, ...rows].slice(0, limits.rowsMax) };
    this.#keep(run, this.total + moved);
    if (moved !== 0) this.onMoved(moved);
  }

  async #addOlder(count: number, abort: AbortSignal): Promise<void> {
    const { first, rows } = this.#run.value;
    const bottom = rows.at(-1);
    if (bottom === undefined) return;
    const before = { before: placeText(bottom), limit: Math.max(limits.pageEvents, count) };
    const page = await this.#ask(before, abort);
    const isShort = isPart(page);
    // The search ended before these rows; a retry may reach them.
    if (isShort && page.data.length < count)
      throw new RequestError('unavailable', { detail: 'The search ended before these rows.' });
    const all = [...rows, ...page.data];
    const dropped = Math.max(0, all.length - limits.rowsMax);
    const total = first + rows.length + page.meta.total;
    this.#keep({ first: first + dropped, rows: all.slice(dropped) }, isShort ? this.total : total);
  }

  #keep(run: Run, total: number): void {
    batch(() => {
      this.#run.value = run;
      this.#total.value = total;
    });
  }
}

/** Whether the word search ended before the whole range was searched. */
const isPart = ({ meta }: Rows): boolean => meta.searched_back_to !== undefined;
