import { signal } from '@preact/signals';
import { get, getStream, type Parameters, RequestError } from '../api/request.ts';
import { Resource } from '../api/resource.ts';
import type { AuditEvent, AuditPage } from '../api/types.ts';
import { fromRfc3339, toRfc3339 } from '../api/instant.ts';
import { limits } from './limits.ts';

const path = '/api/v1/portal/events';

/**
 * The events of one query, newest first, of which only those in sight are asked for. The end of the range is fixed when
 * the list begins, so events that arrive later move nothing.
 */
export class EventList {
  /** Names of parameters that the server could make nothing of. */
  readonly ignored: readonly string[];
  readonly #parameters: Parameters;
  readonly #total: number;
  /** Of words that were looked for: how far back that went, where it was not all. */
  readonly #searchedBackTo: string | undefined;
  /** What was found from there on. */
  readonly #rest = signal<EventList | undefined>(undefined);
  readonly #pages = signal<ReadonlyMap<number, readonly AuditEvent[]>>(new Map());
  /** The request for pages in sight. */
  readonly #loading = new Resource<void>();
  #wanted = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waitsSince = 0;

  private constructor(parameters: Parameters, { data, meta }: AuditPage, ignored: readonly string[]) {
    this.#total = meta.total;
    this.#parameters = parameters;
    this.#searchedBackTo = meta.searched_back_to;
    this.ignored = ignored;
    this.#pages.value = new Map([[0, data]]);
  }

  /** Asks for the first page. Rejects as requests do. */
  static async begin(parameters: Parameters, abort: AbortSignal): Promise<EventList> {
    const response = await getStream(path, { ...parameters, limit: limits.pageEvents }, { signal: abort });
    const first = (await response.json()) as AuditPage;
    const newest = first.data[0];
    const endTime = parameters['endTime'] ?? (newest && toRfc3339(newest.time));
    const back = fromRfc3339(first.meta.searched_back_to ?? '');
    // Later pages are of what was looked through, however far a request comes.
    const startTime = back === undefined ? parameters['startTime'] : toRfc3339(back + 1);
    const ignored = response.headers.get('ignored-parameters')?.split(', ') ?? [];
    return new EventList({ ...parameters, startTime, endTime }, first, ignored);
  }

  get total(): number {
    return this.#total + (this.#rest.value?.total ?? 0);
  }

  /** What exactly these events match, the end of the range included. */
  get parameters(): Parameters {
    const rest = this.#rest.value?.parameters;
    return rest === undefined ? this.#parameters : { ...this.#parameters, startTime: rest['startTime'] };
  }

  /** How far back words were looked for, RFC 3339; undefined where all of the range was looked through. */
  get searchedBackTo(): string | undefined {
    return this.#rest.value === undefined ? this.#searchedBackTo : this.#rest.value.searchedBackTo;
  }

  /** The request for pages in sight. */
  get loading(): Resource<void> {
    const rest = this.#rest.value?.loading;
    return rest?.error.value === undefined ? this.#loading : rest;
  }

  /** Looks for the words from there on, and adds what it finds. Rejects as requests do. */
  async searchOn(startTime: Parameters[string], abort: AbortSignal): Promise<void> {
    const rest = this.#rest.value;
    if (rest !== undefined) return rest.searchOn(startTime, abort);
    const parameters = { ...this.#parameters, startTime, endTime: this.#searchedBackTo };
    this.#rest.value = await EventList.begin(parameters, abort);
    return undefined;
  }

  /** An event by its place; undefined while it is not here. */
  at(index: number): AuditEvent | undefined {
    if (index >= this.#total) return this.#rest.value?.at(index - this.#total);
    return this.#pages.value.get(Math.floor(index / limits.pageEvents))?.[index % limits.pageEvents];
  }

  /** Rows `first` to `last` are in sight: what lacks of them is asked for, once scrolling has come to rest. */
  show(first: number, last: number): void {
    const beyond = last - this.#total;
    if (beyond >= 0) this.#rest.value?.show(Math.max(0, first - this.#total), beyond);
    if (first >= this.#total) return;
    clearTimeout(this.#timer);
    const now = performance.now();
    if (this.#waitsSince === 0) this.#waitsSince = now;
    const wait = Math.min(limits.settleMs, Math.max(0, this.#waitsSince + limits.settleMsMax - now));
    this.#timer = setTimeout(() => {
      this.#waitsSince = 0;
      this.#ask(this.#missing(first - limits.aheadRows, last + limits.aheadRows));
    }, wait);
  }

  /** How many events are newer than a moment (Unix microseconds): the place of the first that is not. */
  async placeOf(micros: number, abort: AbortSignal): Promise<number> {
    const startTime = toRfc3339(micros + 1);
    const { meta } = await get<AuditPage>(
      path,
      { ...this.parameters, startTime, limit: 1 },
      { signal: abort },
    );
    return Math.min(meta.total, this.total - 1);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#loading.stop();
    this.#rest.value?.stop();
  }

  #missing(first: number, last: number): number[] {
    const page = (index: number) =>
      Math.floor(Math.max(0, Math.min(index, this.#total - 1)) / limits.pageEvents);
    const missing: number[] = [];
    for (let number = page(first); number <= page(last); number += 1) {
      if (!this.#pages.value.has(number)) missing.push(number);
    }
    return missing;
  }

  #ask(missing: readonly number[]): void {
    const wanted = missing.join();
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    if (missing.length === 0) return this.#loading.stop();
    void this.#loading.load(async (abort) => {
      for (const number of missing) {
        const offset = number * limits.pageEvents;
        const parameters = { ...this.#parameters, limit: limits.pageEvents, offset };
        const { data, meta } = await get<AuditPage>(path, parameters, { signal: abort });
        // A search that came less far than the first one has not reached this page: another try will.
        if (
          meta.searched_back_to !== undefined &&
          data.length < Math.min(limits.pageEvents, this.#total - offset)
        )
          throw new RequestError('unavailable', 'The search ended before this page.');
        this.#keep(number, data);
      }
      this.#wanted = '';
    });
    return undefined;
  }

  #keep(number: number, events: readonly AuditEvent[]): void {
    const pages = new Map(this.#pages.value).set(number, events);
    for (const [old] of [...pages].toSorted(([a], [b]) => Math.abs(b - number) - Math.abs(a - number))) {
      if (pages.size <= limits.pagesMax) break;
      pages.delete(old);
    }
    this.#pages.value = pages;
  }
}
