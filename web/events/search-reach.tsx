import { fromRfc3339 } from '../api/instant.ts';
import { Failure } from '../ui/failure.tsx';
import { t } from '../ui/text.ts';
import { formatMoment } from '../ui/time.ts';
import type { EventList } from './event-list.ts';
import type { EventsModel } from './model.ts';

interface SearchReachProps {
  readonly model: EventsModel;
  readonly list: EventList;
}

/** How far words have been looked for, and the way on from there. */
export function SearchReach({ model, list }: SearchReachProps) {
  if (!model.query.value.filters.some(({ name }) => name === 'q')) return null;
  const back = fromRfc3339(list.searchedBackTo ?? '');
  const { error, retryAt, isLoading } = model.further;
  return (
    <div class="search-reach">
      <span role="status">
        {back === undefined ? t('eventsSearchedAll') : t('eventsSearched', { time: formatMoment(back) })}
      </span>
      {back !== undefined && (
        <button
          type="button"
          class="button small"
          disabled={isLoading.value}
          onClick={() => model.searchOn()}
        >
          {t('eventsSearchOn')}
        </button>
      )}
      {error.value !== undefined && (
        <Failure error={error.value} retryAt={retryAt.value} onRetry={() => model.further.retry()} />
      )}
    </div>
  );
}
