import './view.css';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { isPrinting } from '../ui/browser.ts';
import { today } from '../ui/format.ts';
import { FailureOf, Skeleton } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { Chart } from './chart.tsx';
import { Detail } from './detail.tsx';
import { Facets } from './facets.tsx';
import { FilterBar } from './filter-bar.tsx';
import { model } from './model.ts';
import { Nothing } from './nothing.tsx';
import { PrintedHead, PrintedRows } from './print.tsx';
import { SearchReach } from './search-reach.tsx';
import { EventTable } from './table.tsx';

/** Everything that happened: filters, counts over time, the most frequent values, and all events. */
export default function EventsView() {
  const query = model.query.value;
  // As of any resource: before the browser lays out and draws what waits.
  useLayoutEffect(() => model.keepUp(query), [query, today.value]);
  useEffect(() => () => model.stop(), []);
  const hasFailed = model.list.error.value !== undefined;
  const printed = isPrinting.value && !hasFailed ? model.list.data.value : undefined;
  useEffect(() => {
    // What was pressed may be gone with the query, such as a chip: Tab goes on from here, not from the bar.
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
  // After a failure the list is still that of the query before.
  const list = model.list.error.value === undefined ? model.list.data.value : undefined;
  const hasFailed = (list?.loading ?? model.list).error.value !== undefined;
  return (
    <div class="table-area" data-stale={model.list.isLoading.value} aria-busy={model.list.isLoading.value}>
      <div class="rows">
        <FailureOf resource={list?.loading ?? model.list} />
        {list === undefined && !hasFailed && <Waiting />}
        {list !== undefined && <SearchReach list={list} />}
        {list !== undefined && list.total === 0 && list.searchedBackTo === undefined && <Nothing />}
        {list !== undefined && list.total > 0 && <EventTable list={list} open={open} />}
      </div>
      {open !== undefined && <Detail place={open} row={list?.find(open)} />}
    </div>
  );
}

const waitingRows = 24;

/** Rows as they will be, before the first answer. */
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
