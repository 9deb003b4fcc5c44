import { signal } from '@preact/signals';
import { get, type Parameters } from '../api/request.ts';
import { Resource } from '../api/resource.ts';
import type { AuditEvent, AuditPage } from '../api/types.ts';
import { toRfc3339 } from '../api/instant.ts';
import { limits } from './limits.ts';

const path = '/api/v1/portal/events';

/**
 * The events of one query, newest first, of which only those in sight are asked for. The end of the range is fixed when
 * the list begins, so events that arrive later move nothing.
 */
export class EventList {
  readonly total: number;
  /** What exactly these events match, the end of the range included. */
  readonly parameters: Parameters;
  readonly #pages = signal<ReadonlyMap<number, readonly AuditEvent[]>>(new Map());
  /** The request for pages in sight. */
  readonly loading = new Resource<void>();
  #wanted = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waitsSince = 0;

  private constructor(parameters: Parameters, first: AuditPage) {
    this.total = first.meta.total;
    this.parameters = parameters;
    this.#pages.value = new Map([[0, first.data]]);
  }

  /** Asks for the first page. Rejects as requests do. */
  static async begin(parameters: Parameters, abort: AbortSignal): Promise<EventList> {
    const first = await get<AuditPage>(path, { ...parameters, limit: limits.pageEvents }, { signal: abort });
    const newest = first.data[0];
    const endTime = parameters['endTime'] ?? (newest && toRfc3339(newest.time));
    return new EventList({ ...parameters, endTime }, first);
  }

  /** An event by its place; undefined while it is not here. */
  at(index: number): AuditEvent | undefined {
    return this.#pages.value.get(Math.floor(index / limits.pageEvents))?.[index % limits.pageEvents];
  }

  /** Rows `first` to `last` are in sight: what lacks of them is asked for, once scrolling has come to rest. */
  show(first: number, last: number): void {
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
    this.loading.stop();
  }

  #missing(first: number, last: number): number[] {
    const page = (index: number) =>
      Math.floor(Math.max(0, Math.min(index, this.total - 1)) / limits.pageEvents);
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
    if (missing.length === 0) return this.loading.stop();
    void this.loading.load(async (abort) => {
      for (const number of missing) {
        const offset = number * limits.pageEvents;
        const parameters = { ...this.parameters, limit: limits.pageEvents, offset };
        this.#keep(number, (await get<AuditPage>(path, parameters, { signal: abort })).data);
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
