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

/** Values with the names that people know them by, the newest first. */
export interface Known {
  readonly activities: ReadonlyMap<string, string>;
  readonly actors: ReadonlyMap<string, string | undefined>;
}

const histogramOf = (parameters: Parameters, signal: AbortSignal) =>
  get<Histogram>('/api/v1/portal/histogram', parameters, { signal });
const topOf = (parameters: Parameters, signal: AbortSignal) =>
  get<TopValues>('/api/v1/portal/top-values', { ...parameters, limit: limits.topValues }, { signal });

/** The row at the top when this entry of the browser's history was left: Back leads there. */
function topOfEntry(): string | undefined {
  const state: unknown = history.state;
  return typeof state === 'string' ? state : undefined;
}

/** Resolves once what is there has been drawn; a page that is out of sight draws nothing. */
function drawn(): Promise<void> {
  if (document.hidden) return Promise.resolve();
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** What the view of events knows: the query in the address, and what the server said to it. */
class EventsModel {
  readonly query = computed(() => readQuery(place.value.query));
  readonly list = new Resource<EventList>();
  readonly histogram = new Resource<Histogram>();
  readonly top = new Resource<TopValues>();
  readonly live = new Live();
  /** Looking further back for words. */
  readonly further = new Resource<void>();
  /** What is most frequent under this query, and was under those before: what is filtered by one value has no others. */
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
  /** Names that several of the people in sight have. */
  readonly shared = computed(() => {
    const rows = this.list.data.value?.rows ?? [];
    const people = rows.map(({ actor_name: name, actor_email: email }): Person => [name, email]);
    const known = Array.from(this.known.value.actors, ([email, name]): Person => [name, email]);
    return sharedNames([...people, ...known]);
  });
  #known: Known = { activities: new Map(), actors: new Map() };
  /** The query that was asked last, without the event that is open. */
  #asked: string | undefined;
  readonly askedAtMs = signal(0);
  /** The parameters of that question; a list that follows leaves them as they were. */
  readonly asked = signal<Parameters>({});
  #countedAtMs = 0;
  /** What the list is of, where nothing was counted over all of it yet. */
  #uncounted: Parameters | undefined;

  /** Asks anew where the query is another one than before, or means another day. */
  keepUp(query: EventQuery): void {
    const day = isByDay(query.range) ? today.peek() : '';
    const key = `${writeQuery({ ...query, open: undefined })} ${day}`;
    if (key !== this.#asked) this.refresh(query.open ?? topOfEntry());
    this.#asked = key;
  }

  /** Asks again up to now; `place`: not from the newest event on, but around this one. */
  refresh(place?: string): void {
    const parameters = (this.asked.value = this.#parametersOfNow());
    this.askedAtMs.value = serverNow();
    this.list.data.value?.stop();
    this.further.stop();
    this.live.stop();
    // What is counted over all events takes the engine ten times as long as the rows, and would hold them up.
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

  /** Goes on with what comes, from the newest events on; or no longer. */
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

  /** What there is by now takes the place of what is shown, which does not fade for it. */
  async #advance(abort: AbortSignal): Promise<EventList> {
    const [parameters, now] = [this.#parametersOfNow(), serverNow()];
    const list = await EventList.begin(parameters, undefined, abort);
    this.list.data.value?.stop();
    this.list.data.value = list;
    this.askedAtMs.value = now;
    this.#uncounted = parameters;
    return list;
  }

  /** Counts what the list has gone on to: not as often as that goes on, and one count after the other. */
  #countLate(): void {
    const isBusy = this.histogram.isLoading.value || this.top.isLoading.value;
    if (this.#uncounted === undefined || isBusy || Date.now() < this.#countedAtMs + limits.followChartMs)
      return;
    this.#count(this.#uncounted, Promise.resolve(), true);
  }

  /** Counts over all events, `after` what is more urgent. */
  #count(parameters: Parameters, after: Promise<void>, isQuiet = false): void {
    this.#uncounted = undefined;
    this.#countedAtMs = Date.now();
    void this.histogram.load((abort) => after.then(() => histogramOf(parameters, abort)), { isQuiet });
    void this.top.load((abort) => after.then(() => topOf(parameters, abort)), { isQuiet });
  }

  /** Goes on looking for words where the list ends. */
  searchOn(): void {
    const list = this.list.data.value;
    const { from } = exactRange(this.query.value.range, this.askedAtMs.value);
    void this.further.load(async (abort) => list?.searchOn(from && toRfc3339(from), abort));
  }

  /** The view is left: the next one begins anew. */
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

  /** Goes to another query; the event that is open closes. */
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

  /** Opens an event, or closes it. Going back skips the events that were only passed by. */
  open(place: string | undefined): void {
    const isOpen = this.query.value.open !== undefined;
    go('events', this.#queryOf(place), { replace: isOpen && place !== undefined });
  }

  /** Where an event is open under the query of now. */
  hrefOf(place: string): string {
    return hrefOf('events', this.#queryOf(place));
  }

  /** The same for others, and for later: the range does not move with the time. */
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
