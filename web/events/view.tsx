import './view.css';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { fromRfc3339, serverNow } from '../api/instant.ts';
import { isPrinting } from '../ui/browser.ts';
import { Button } from '../ui/button.tsx';
import { formatExact, formatMoment, today } from '../ui/format.ts';
import { FailureOf, Loaded, loadPart, Skeleton, useResource } from '../ui/resource.tsx';
import { formatNumber, t } from '../ui/text.ts';
import { Chart } from './chart.tsx';
import type { DetailProps } from './detail.tsx';
import { Facets } from './facets.tsx';
import { FilterBar } from './filter-bar.tsx';
import { model } from './model.ts';
import type { EventList } from './event-list.ts';
import { Nothing } from './nothing.tsx';
import { PrintedHead, PrintedRows } from './print.tsx';
import { EventTable } from './table.tsx';

/** Asks again only if the query or its day has changed. */
export const begin = () => model.keepUp(model.query.value);

export default function EventsView() {
  const query = model.query.value;
  // Like any resource, before the browser lays out.
  useLayoutEffect(begin, [query, today.value]);
  useEffect(() => () => model.stop(), []);
  useEffect(() => {
    // A browser's first number and first time take as long to format as a screen of rows: not once these are there.
    formatExact(serverNow() * 1000);
    formatNumber(0);
  }, []);
  const hasFailed = model.list.error.value !== undefined;
  const printed = isPrinting.value && !hasFailed ? model.list.data.value : undefined;
  useEffect(() => {
    // The pressed element (such as a chip) may be gone: Tab continues here, not at the bar.
    if (document.activeElement === document.body)
      document.getElementById('content')?.focus({ preventScroll: true });
  }, [query]);
  return (
    <div class="events">
      <h1 class="visually-hidden">{t('events')}</h1>
      <FilterBar />
      {printed !== undefined && <PrintedHead list={printed} />}
      <Chart />
      <Facets />
      <TableArea />
      {printed !== undefined && <PrintedRows list={printed} />}
    </div>
  );
}

function TableArea() {
  const { open } = model.query.value;
  // After a failure the list still belongs to the previous query.
  const list = model.list.error.value === undefined ? model.list.data.value : undefined;
  const hasFailed = (list?.loading ?? model.list).error.value !== undefined;
  const isThere = list !== undefined;
  useEffect(() => {
    // If it fails, the first opened event shows the failure.
    if (isThere) void loadDetail().catch(() => undefined);
  }, [isThere]);
  return (
    <div class="table-area" data-stale={model.list.isLoading.value} aria-busy={model.list.isLoading.value}>
      <div class="rows">
        <FailureOf resource={list?.loading ?? model.list} />
        {list === undefined && !hasFailed && <Waiting />}
        {list !== undefined && <SearchReach list={list} />}
        {list !== undefined && list.total === 0 && list.searchedBackTo === undefined && <Nothing />}
        {list !== undefined && list.total > 0 && <EventTable list={list} open={open} />}
      </div>
      {open !== undefined && <OpenEvent place={open} row={list?.find(open)} />}
    </div>
  );
}

function SearchReach({ list }: { readonly list: EventList }) {
  if (!model.query.value.filters.some(({ name }) => name === 'q')) return null;
  const back = fromRfc3339(list.searchedBackTo ?? '');
  return (
    <div class="search-reach line">
      <span role="status">
        {back === undefined ? t('eventsSearchedAll') : t('eventsSearched', { time: formatMoment(back) })}
      </span>
      {back !== undefined && (
        <Button look="small" disabled={model.further.isLoading.value} onClick={() => model.searchOn()}>
          {t('eventsSearchOn')}
        </Button>
      )}
      <FailureOf resource={model.further} />
    </div>
  );
}

/** Loaded after the first rows, or with the first opened event. */
const loadDetail = () => loadPart(async () => (await import('./detail.tsx')).Detail);

function OpenEvent(props: DetailProps) {
  const { resource } = useResource(loadDetail, []);
  const Detail = resource.data.value;
  if (Detail !== undefined) return <Detail {...props} />;
  return (
    <section class="detail" aria-label={t('eventsDetail')}>
      <Loaded resource={resource}>{() => null}</Loaded>
    </section>
  );
}

const waitingRows = 24;

function Waiting() {
  const rows = Array.from({ length: waitingRows }, (_, index) => index);
  return (
    <div class="virtual-rows" role="status" aria-label={t('loading')}>
      <div class="row head" />
      {rows.map((index) => (
        <div key={index} class="row">
          <Skeleton at={index * 17} />
          <Skeleton at={index * 29} />
        </div>
      ))}
    </div>
  );
}
