import { useState } from 'preact/hooks';
import { lately, useKey } from '../ui/browser.ts';
import { Button, Icon } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { formatLately } from '../ui/format.ts';
import { lazy } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { Chips } from './chips.tsx';
import type { EventList } from './event-list.ts';
import { Facets } from './facets.tsx';
import { model } from './model.ts';
import { endsNow } from './query.ts';
import { RangeMenu } from './range-menu.tsx';
import { Search } from './search.tsx';
import { Compare, Seen } from './seen.tsx';
import { totalWords } from './words.ts';

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
        <Button look="small live" onClick={() => model.showNewest()}>
          <Icon name="up" />
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
    <Button look="small follow" aria-pressed={isOn.value} aria-keyshortcuts="f" onClick={toggle}>
      {isLost && <Icon name="warning" />}
      {t(isLost ? lost : words)}
    </Button>
  );
}

/** On narrow screens the frequent values cover the table. */
function FacetsSheet() {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="facets-sheet">
      <Button onClick={() => setOpen(true)}>
        <Icon name="filter" />
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
    <Button look="export" disabled={!isReady} onClick={() => list && setOpen({ list, dialog })}>
      <Icon name={icon} />
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
