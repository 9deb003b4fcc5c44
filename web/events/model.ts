import { computed, signal } from '@preact/signals';
import { serverNow, toRfc3339 } from '../api/instant.ts';
import { get, type Parameters } from '../api/request.ts';
import { Resource } from '../api/resource.ts';
import type { Histogram, TopValues } from '../api/types.ts';
import { today } from '../ui/format.ts';
import { type Person, sharedNames } from '../ui/people.ts';
import { go, hrefOf, place } from '../ui/router.ts';
import { announcement, t } from '../ui/text.ts';
import { EventList } from './event-list.ts';
import { type FilterName, type FilterWay, parametersOf, withoutValue, withValue } from './filters.ts';
import { limits } from './limits.ts';
import { type Followed, Live } from './live.ts';
import {
  endsNow,
  type EventQuery,
  exactRange,
  isByDay,
  readQuery,
  timeParameters,
  writeQuery,
} from './query.ts';

/** Values with the names that people use, newest first. */
export interface Known {
  readonly activities: ReadonlyMap<string, string>;
  readonly actors: ReadonlyMap<string, string | undefined>;
}

const histogramOf = (parameters: Parameters, signal: AbortSignal) =>
  get<Histogram>('/api/v1/portal/histogram', parameters, { signal });
const topOf = (parameters: Parameters, signal: AbortSignal) =>
  get<TopValues>('/api/v1/portal/top-values', { ...parameters, limit: limits.topValues }, { signal });

/** The top row when this history entry was left, for Back. */
function topOfEntry(): string | undefined {
  const state: unknown = history.state;
  return typeof state === 'string' ? state : undefined;
}

/** Resolves once the current state is drawn; a hidden page draws nothing. */
function drawn(): Promise<void> {
  if (document.hidden) return Promise.resolve();
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** State of the view of events: the query in the address, and the answers to it. */
class EventsModel {
  readonly query = computed(() => readQuery(place.value.query));
  readonly list = new Resource<EventList>();
  readonly histogram = new Resource<Histogram>();
  readonly top = new Resource<TopValues>();
  readonly live = new Live();
  readonly further = new Resource<void>();
  /** Frequent values of this query and earlier ones: a filtered list has no other values to suggest. */
  readonly known = computed((): Known => {
    const { activities = [], actors = [] } = this.top.data.value?.data ?? {};
    const { activities: formerActivities, actors: formerActors } = this.#known;
    const named = activities.map((one) => [String(one.activity_id), one.activity_name] as const);
    const people = actors.map((one) => [one.email_addr, one.name] as const);
    this.#known = {
      activities: new Map([...formerActivities, ...named].slice(-limits.knownMax)),
      actors: new Map([...formerActors, ...people].slice(-limits.knownMax)),
    };
    return this.#known;
  });
  readonly shared = computed(() => {
    const rows = this.list.data.value?.rows ?? [];
    const people = rows.map(({ actor_name: name, actor_email: email }): Person => [name, email]);
    const known = Array.from(this.known.value.actors, ([email, name]): Person => [name, email]);
    return sharedNames([...people, ...known]);
  });
  #known: Known = { activities: new Map(), actors: new Map() };
  /** The last query, without the open event. */
  #asked: string | undefined;
  readonly askedAtMs = signal(0);
  /** Parameters of that query; a list that follows does not change them. */
  readonly asked = signal<Parameters>({});
  #countedAtMs = 0;
  /** Parameters of a list that has no counts yet. */
  #uncounted: Parameters | undefined;

  /** Loads anew if the query changed, or if its day did. */
  keepUp(query: EventQuery): void {
    const day = isByDay(query.range) ? today.peek() : '';
    const key = `${writeQuery({ ...query, open: undefined })} ${day}`;
    if (key !== this.#asked) this.refresh(query.open ?? topOfEntry());
    this.#asked = key;
  }

  /** Loads again up to now; `place`: around this event. */
  refresh(place?: string): void {
    const parameters = (this.asked.value = this.#parametersOfNow());
    this.askedAtMs.value = serverNow();
    this.list.data.value?.stop();
    this.further.stop();
    this.live.stop();
    // Counts over all events cost the engine ten times as much as the rows, and would delay them.
    const rows = Promise.withResolvers<void>();
    void this.list.load(async (abort) => {
      try {
        const list = await EventList.begin(parameters, place, abort);
        if (endsNow(this.query.value.range)) this.live.start(list, this.#followed);
        return list;
      } finally {
        rows.resolve();
      }
    });
    this.#count(parameters, rows.promise.then(drawn));
  }

  readonly #followed: Followed = {
    parameters: () => this.#parametersOfNow(),
    advance: (abort) => this.#advance(abort),
    count: () => this.#countLate(),
  };

  follow(isOn: boolean): void {
    this.live.isOn.value = isOn;
    if (isOn) this.showNewest();
  }

  showNewest(): void {
    this.open(undefined);
    history.replaceState(null, '');
    this.refresh();
  }

  #parametersOfNow(): Parameters {
    const { range, filters } = this.query.value;
    return { ...parametersOf(filters), ...timeParameters(exactRange(range, serverNow())) };
  }

  async #advance(abort: AbortSignal): Promise<EventList> {
    const [parameters, now] = [this.#parametersOfNow(), serverNow()];
    const list = await EventList.begin(parameters, undefined, abort);
    this.list.data.value?.stop();
    this.list.data.value = list;
    this.askedAtMs.value = now;
    this.#uncounted = parameters;
    return list;
  }

  /** Refreshes the counts of a list that follows: less often, and one at a time. */
  #countLate(): void {
    const isBusy = this.histogram.isLoading.value || this.top.isLoading.value;
    if (this.#uncounted === undefined || isBusy || Date.now() < this.#countedAtMs + limits.followChartMs)
      return;
    this.#count(this.#uncounted, Promise.resolve(), true);
  }

  /** Counts over all events, once `after` has resolved. */
  #count(parameters: Parameters, after: Promise<void>, isQuiet = false): void {
    this.#uncounted = undefined;
    this.#countedAtMs = Date.now();
    void this.histogram.load((abort) => after.then(() => histogramOf(parameters, abort)), { isQuiet });
    void this.top.load((abort) => after.then(() => topOf(parameters, abort)), { isQuiet });
  }

  searchOn(): void {
    const list = this.list.data.value;
    const { from } = exactRange(this.query.value.range, this.askedAtMs.value);
    void this.further.load(async (abort) => list?.searchOn(from && toRfc3339(from), abort));
  }

  stop(): void {
    this.live.stop();
    this.live.isOn.value = false;
    this.list.data.value?.stop();
    for (const resource of [this.list, this.histogram, this.top, this.further]) {
      resource.stop();
      resource.data.value = undefined;
    }
    this.#asked = undefined;
  }

  /** Changes the query; the open event closes. */
  change(change: Partial<EventQuery>): void {
    go('events', writeQuery({ ...this.query.value, open: undefined, ...change }));
  }

  filter(name: FilterName, value: string, way: FilterWay = 'only'): void {
    const filters = withValue(this.query.value.filters, name, value, way);
    if (filters === undefined) announcement.value = t('eventsFilterFull');
    else this.change({ filters });
  }

  unfilter(name: FilterName, value?: string, isNot = false): void {
    this.change({ filters: withoutValue(this.query.value.filters, name, value, isNot) });
  }

  /** Opens an event, or closes it. Back skips events that were only passed by. */
  open(place: string | undefined): void {
    const isOpen = this.query.value.open !== undefined;
    go('events', this.#queryOf(place), { replace: isOpen && place !== undefined });
  }

  hrefOf(place: string): string {
    return hrefOf('events', this.#queryOf(place));
  }

  /** A link for others and for later: its range does not move with time. */
  linkTo(place: string): string {
    const given = this.query.value.range;
    const range = given === 'all' ? given : exactRange(given, this.askedAtMs.value);
    const query = writeQuery({ ...this.query.value, open: place, range });
    return new URL(hrefOf('events', query), location.href).href;
  }

  #queryOf(open: string | undefined): URLSearchParams {
    return writeQuery({ ...this.query.value, open });
  }
}

export const model = new EventsModel();
