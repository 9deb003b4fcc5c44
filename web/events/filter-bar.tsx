import { useState } from 'preact/hooks';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { formatNumber } from '../ui/number.ts';
import { t } from '../ui/text.ts';
import { useKey } from '../ui/use-key.ts';
import { Chips } from './chips.tsx';
import { ExportButton } from './export-dialog.tsx';
import { Facets } from './facets.tsx';
import type { EventsModel } from './model.ts';
import { endsNow } from './query.ts';
import { RangeMenu } from './range-menu.tsx';
import { Search } from './search.tsx';
import { totalWords } from './words.ts';

/** What is looked for: the range of time, the field that makes filters, and the filters there are. */
export function FilterBar({ model }: { readonly model: EventsModel }) {
  const { range, filters } = model.query.value;
  const list = model.list.error.value === undefined ? model.list.data.value : undefined;
  const fresh = model.live.count.value;
  return (
    <div class="filter-bar">
      <RangeMenu range={range} onChange={(next) => model.change({ range: next })} />
      <FacetsSheet model={model} />
      <Search model={model} />
      <Chips
        model={model}
        end={
          filters.length > 1 && (
            <button type="button" class="button quiet small" onClick={() => model.change({ filters: [] })}>
              {t('eventsClear')}
            </button>
          )
        }
      />
      {endsNow(range) && <FollowButton model={model} />}
      {fresh > 0 && !model.live.follows.value && (
        <button type="button" class="button small live" onClick={() => model.showNewest()}>
          <Icon name="up" />
          {t(fresh === 1 ? 'eventsNewOne' : 'eventsNew', { n: formatNumber(fresh) })}
        </button>
      )}
      <span class="total" role="status" data-stale={model.list.isLoading.value}>
        {list !== undefined && totalWords(list.total, list.searchedBackTo !== undefined)}
      </span>
      <ExportButton model={model} list={list} />
    </div>
  );
}

/** The list goes on with what comes, while nobody reads what is further down. */
function FollowButton({ model }: { readonly model: EventsModel }) {
  const { isOn, isAtTop } = model.live;
  const isPaused = isOn.value && !isAtTop.value;
  const toggle = () => model.follow(!isOn.peek() || !isAtTop.peek());
  useKey('f', toggle);
  return (
    <button
      type="button"
      class="button small follow"
      aria-pressed={isOn.value}
      aria-keyshortcuts="f"
      onClick={toggle}
    >
      {t(isPaused ? 'eventsFollowPaused' : isOn.value ? 'eventsFollows' : 'eventsFollow')}
    </button>
  );
}

/** Where there is no room beside the table, the most frequent values lie over it. */
function FacetsSheet({ model }: { readonly model: EventsModel }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="facets-sheet">
      <button type="button" class="button" onClick={() => setOpen(true)}>
        <Icon name="filter" />
        <span>{t('eventsFacets')}</span>
      </button>
      {isOpen && (
        <Dialog title={t('eventsFacets')} onClose={() => setOpen(false)}>
          <Facets model={model} />
        </Dialog>
      )}
    </div>
  );
}
