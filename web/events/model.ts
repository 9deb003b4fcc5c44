import { computed, signal } from '@preact/signals';
import { get, type Parameters } from '../api/request.ts';
import { Resource } from '../api/resource.ts';
import type { Histogram, TopValues } from '../api/types.ts';
import { go, place } from '../ui/router.ts';
import { EventList } from './event-list.ts';
import { limits } from './limits.ts';
import { LiveCount } from './live.ts';
import {
  endsNow,
  type EventQuery,
  exactRange,
  type FilterName,
  type Filters,
  readQuery,
  timeParameters,
  writeQuery,
} from './query.ts';

/** What the view of events knows: the query in the address, and what the server said to it. */
export class EventsModel {
  readonly query = computed(() => readQuery(place.value.query));
  readonly list = new Resource<EventList>();
  readonly histogram = new Resource<Histogram>();
  readonly top = new Resource<TopValues>();
  readonly live = new LiveCount();
  /** Names of activities by their codes, from the most frequent ones. */
  readonly activityNames = computed(
    () =>
      new Map(
        this.top.data.value?.data.activities.map((one) => [String(one.activity_id), one.activity_name]),
      ),
  );
  /** Of the query that was asked last, without the event that is open. */
  #asked: string | undefined;
  readonly askedAtMs = signal(0);

  /** Asks anew where the query is another one than before. */
  follow(query: EventQuery): void {
    const key = writeQuery({ ...query, open: undefined }).toString();
    if (key !== this.#asked) this.refresh();
    this.#asked = key;
  }

  /** Asks again up to now. */
  refresh(): void {
    const { range, filters } = this.query.value;
    const now = Date.now();
    this.askedAtMs.value = now;
    const parameters: Parameters = { ...filters, ...timeParameters(exactRange(range, now)) };
    this.list.data.value?.stop();
    void this.list.load((abort) => EventList.begin(parameters, abort));
    void this.histogram.load((abort) => get('/api/v1/portal/histogram', parameters, { signal: abort }));
    void this.top.load((abort) =>
      get('/api/v1/portal/top-values', { ...parameters, limit: limits.topValues }, { signal: abort }),
    );
    if (endsNow(range)) this.live.start(filters, now);
    else this.live.stop();
  }

  stop(): void {
    this.live.stop();
    this.list.data.value?.stop();
    for (const resource of [this.list, this.histogram, this.top]) resource.stop();
  }

  /** Goes to another query; the event that is open closes. */
  change(change: Partial<EventQuery>): void {
    go('events', writeQuery({ ...this.query.value, open: undefined, ...change }));
  }

  /** Adds a filter, or takes its place. */
  filter(name: FilterName, value: string): void {
    this.change({ filters: { ...this.query.value.filters, [name]: value } });
  }

  unfilter(name: FilterName): void {
    const { [name]: _, ...filters }: Filters = this.query.value.filters;
    this.change({ filters });
  }

  /** Opens an event, or closes it. Going back skips the events that were only passed by. */
  open(micros: number | undefined): void {
    const isOpen = this.query.value.open !== undefined;
    const query = writeQuery({ ...this.query.value, open: micros });
    go('events', query, { replace: isOpen && micros !== undefined });
  }
}
