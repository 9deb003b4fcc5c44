import { useState } from 'preact/hooks';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { formatNumber } from '../ui/number.ts';
import { t } from '../ui/text.ts';
import { ExportButton } from './export-dialog.tsx';
import { Facets } from './facets.tsx';
import type { EventsModel } from './model.ts';
import { filterNames } from './query.ts';
import { RangeMenu } from './range-menu.tsx';
import { Search } from './search.tsx';
import { filterWords, totalWords, valueWords } from './words.ts';

/** What is looked for: the range of time, the field that makes filters, and the filters there are. */
export function FilterBar({ model }: { readonly model: EventsModel }) {
  const { range } = model.query.value;
  const list = model.list.error.value === undefined ? model.list.data.value : undefined;
  const fresh = model.live.count.value;
  return (
    <div class="filter-bar">
      <RangeMenu range={range} onChange={(next) => model.change({ range: next })} />
      <FacetsSheet model={model} />
      <Search model={model} />
      <Chips model={model} />
      {fresh > 0 && (
        <button type="button" class="button small live" onClick={() => model.refresh()}>
          <Icon name="up" />
          {t(fresh === 1 ? 'eventsNewOne' : 'eventsNew', { n: formatNumber(fresh) })}
        </button>
      )}
      <span class="total" role="status" data-stale={model.list.isLoading.value}>
        {list !== undefined && totalWords(list.total)}
      </span>
      <ExportButton model={model} list={list} />
    </div>
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

function Chips({ model }: { readonly model: EventsModel }) {
  const { filters } = model.query.value;
  const given = filterNames.filter((name) => filters[name] !== undefined);
  if (given.length === 0) return null;
  return (
    <ul class="chips">
      {given.map((name) => {
        const value = valueWords(name, filters[name] ?? '', model.activityNames.value);
        const words = `${filterWords(name)} ${value}`;
        return (
          <li key={name} class="chip">
            <span title={words}>
              <span class="muted">{filterWords(name)}</span> {value}
            </span>
            <button
              type="button"
              aria-label={t('eventsChipRemove', { filter: words })}
              onClick={() => model.unfilter(name)}
            >
              <Icon name="close" />
            </button>
          </li>
        );
      })}
      {given.length > 1 && (
        <li>
          <button type="button" class="button quiet small" onClick={() => model.change({ filters: {} })}>
            {t('eventsClear')}
          </button>
        </li>
      )}
    </ul>
  );
}
