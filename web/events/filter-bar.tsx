import { useState } from 'preact/hooks';
import { lately, useKey } from '../ui/browser.ts';
import { Button, Icon } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { formatLately, formatNumber } from '../ui/format.ts';
import { t } from '../ui/text.ts';
import { Chips } from './chips.tsx';
import { Compare } from './compare.tsx';
import { ExportButtons } from './export-buttons.tsx';
import { Facets } from './facets.tsx';
import { model } from './model.ts';
import { endsNow } from './query.ts';
import { RangeMenu } from './range-menu.tsx';
import { Search } from './search.tsx';
import { Seen } from './seen.tsx';
import { totalWords } from './words.ts';

/** The range of time, the field that adds filters, and the active filters. */
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
      {model.query.value.range !== 'all' && <Compare />}
      {endsNow(range) && <FollowButton />}
      {fresh > 0 && !model.live.follows.value && (
        <Button look="small live" onClick={() => model.showNewest()}>
          <Icon name="up" />
          {t('eventsNew', { n: formatNumber(fresh) })}
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
