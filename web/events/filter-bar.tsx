import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { lately, useKey } from '../ui/browser.ts';
import { Button, Icon } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { formatLately } from '../ui/format.ts';
import { Marked, markedText } from '../ui/marked.tsx';
import { lazy } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import type { EventList } from './event-list.ts';
import { Facets } from './facets.tsx';
import { type Filter, parameterOf } from './filters.ts';
import { model } from './model.ts';
import { endsNow } from './query.ts';
import { RangeMenu } from './range-menu.tsx';
import { Search } from './search.tsx';
import { Compare, Seen } from './seen.tsx';
import { filterWords, totalWords, valueWords } from './words.ts';

export function FilterBar() {
  const { range } = model.query.value;
  const list = model.list.error.value === undefined ? model.list.data.value : undefined;
  const fresh = model.live.count.value;
  return (
    <div class="filter-bar line">
      <RangeMenu range={range} onChange={(next) => model.change({ range: next })} />
      <FacetsSheet />
      <Search />
      <Chips />
      <Seen />
      {range !== 'all' && <Compare />}
      {endsNow(range) && <FollowButton />}
      {fresh > 0 && !model.live.follows.value && (
        <Button icon="up" look="small live" onClick={() => model.showNewest()}>
          {t('eventsNew', { n: fresh })}
        </Button>
      )}
      <AsOf />
      <strong class="total push" role="status" data-stale={model.list.isLoading.value}>
        {list !== undefined && totalWords(list.total, list.searchedBackTo !== undefined)}
      </strong>
      <ExportButtons list={list} />
    </div>
  );
}

const freshMs = 60_000;

/** When the list was loaded, for a tab left open. */
function AsOf() {
  const { value: askedAt } = model.askedAtMs;
  if (!endsNow(model.query.value.range) || lately.value - askedAt < freshMs) return null;
  return <span class="muted">{t('eventsAsOf', { time: formatLately(askedAt * 1000) })}</span>;
}

/** Keeps the list current while it is scrolled to the top. */
function FollowButton() {
  const { isOn, isAtTop, error } = model.live;
  const isPaused = isOn.value && !isAtTop.value;
  const isLost = isOn.value && error.value !== undefined;
  const words = isOn.value ? (isPaused ? 'eventsFollowPaused' : 'eventsFollows') : 'eventsFollow';
  const lost = error.value?.kind === 'offline' ? 'eventsFollowOffline' : 'eventsFollowFails';
  const toggle = () => model.follow(!isOn.peek() || !isAtTop.peek());
  useKey('f', toggle);
  return (
    <Button
      icon={isLost ? 'warning' : undefined}
      look="small follow"
      aria-pressed={isOn.value}
      aria-keyshortcuts="f"
      onClick={toggle}
    >
      {t(isLost ? lost : words)}
    </Button>
  );
}

/** On narrow screens the frequent values cover the table. */
function FacetsSheet() {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="facets-sheet">
      <Button icon="filter" onClick={() => setOpen(true)}>
        <span class="roomy">{t('eventsFacets')}</span>
      </Button>
      {isOpen && (
        <Dialog title={t('eventsFacets')} onClose={() => setOpen(false)}>
          <Facets />
        </Dialog>
      )}
    </div>
  );
}

const dialogs = {
  export: lazy(async () => (await import('./export-dialog.tsx')).ExportDialog),
  case: lazy(async () => (await import('./export-dialog.tsx')).CaseDialog),
};

/** Takes all events of the view away, as a file or with their proofs; `list` is undefined if there is nothing. */
function ExportButtons({ list }: { readonly list: EventList | undefined }) {
  const [open, setOpen] = useState<{ readonly list: EventList; readonly dialog: keyof typeof dialogs }>();
  const isReady = list !== undefined && list.total > 0 && !model.list.isLoading.value;
  const button = (dialog: keyof typeof dialogs, icon: 'down' | 'check') => (
    <Button icon={icon} look="export" disabled={!isReady} onClick={() => list && setOpen({ list, dialog })}>
      <span class="roomy">{t(dialog === 'case' ? 'eventsCase' : 'eventsExport')}</span>
    </Button>
  );
  const Dialog = open && dialogs[open.dialog];
  return (
    <>
      {button('export', 'down')}
      {button('case', 'check')}
      {/* Going back to another query closes it. */}
      {Dialog && open.list === list && <Dialog list={list} onClose={() => setOpen(undefined)} />}
    </>
  );
}

/** The active filters as a sentence; each value can be removed. */
function Chips() {
  const { filters, unread = [] } = model.query.value;
  const ignored = model.list.data.value?.ignored ?? [];
  if (filters.length + unread.length === 0) return null;
  return (
    <ul class="chips line" aria-label={t('eventsFilterLabel')}>
      {filters.map((filter) => {
        const parameter = parameterOf(filter);
        return (
          <li key={parameter} class={`chip${filter.isNot ? ' not' : ''}`}>
            <span class="muted">{filterWords(filter)}</span>{' '}
            {filter.values.map((value, index) => chipValue(filter, value, index))}
            {ignored.includes(parameter) && <span class="fault">{t('eventsChipIgnored')}</span>}
          </li>
        );
      })}
      {unread.map((text) => (
        <li key={text} class="chip">
          <Marked text={text} /> <span class="fault">{t('eventsChipIgnored')}</span>
        </li>
      ))}
      {filters.length > 1 && (
        <li>
          <Button look="quiet small" onClick={() => model.change({ filters: [] })}>
            {t('eventsClear')}
          </Button>
        </li>
      )}
    </ul>
  );
}

function chipValue(filter: Filter, value: string, index: number) {
  const { name, isNot } = filter;
  const words = valueWords(name, value);
  return (
    <Fragment key={value}>
      {index > 0 && <span class="muted"> {t(name === 'q' && !isNot ? 'eventsAnd' : 'eventsOr')} </span>}
      <span class="cut" title={markedText(words)}>
        <Marked text={words} />
      </span>
      <button
        type="button"
        aria-label={t('eventsChipRemove', { filter: `${filterWords(filter)} ${markedText(words)}` })}
        onClick={() => model.unfilter(name, value, isNot)}
      >
        <Icon name="close" />
      </button>
    </Fragment>
  );
}
