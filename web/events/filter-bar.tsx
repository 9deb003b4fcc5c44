import { Icon } from '../ui/icon.tsx';
import { formatNumber } from '../ui/number.ts';
import { t } from '../ui/text.ts';
import type { EventsModel } from './model.ts';
import { filterNames } from './query.ts';
import { RangeMenu } from './range-menu.tsx';
import { Search } from './search.tsx';
import { filterWords, totalWords, valueWords } from './words.ts';

/** What is looked for: the range of time, the field that makes filters, and the filters there are. */
export function FilterBar({ model }: { readonly model: EventsModel }) {
  const { range } = model.query.value;
  const list = model.list.data.value;
  const fresh = model.live.count.value;
  return (
    <div class="filter-bar">
      <RangeMenu range={range} onChange={(next) => model.change({ range: next })} />
      <Search model={model} />
      <Chips model={model} />
      {fresh > 0 && (
        <button type="button" class="button small live" onClick={() => model.refresh()}>
          <Icon name="up" />
          {t(fresh === 1 ? 'eventsNewOne' : 'eventsNew', { n: formatNumber(fresh) })}
        </button>
      )}
      <span class="total" role="status">
        {list !== undefined && totalWords(list.total)}
      </span>
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
