import { fromRfc3339 } from '../api/instant.ts';
import { Button } from '../ui/button.tsx';
import { formatMoment } from '../ui/format.ts';
import { FailureOf } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import type { EventList } from './event-list.ts';
import { model } from './model.ts';

/** How far back words were searched, and a button to continue. */
export function SearchReach({ list }: { readonly list: EventList }) {
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
