import { fromRfc3339 } from '../api/instant.ts';
import { withQuery } from '../api/request.ts';
import type { Histogram } from '../api/types.ts';
import { formatChange, formatMoment } from '../ui/format.ts';
import { Opened } from '../ui/opened.tsx';
import { Loaded, useResource } from '../ui/resource.tsx';
import { formatNumber, t } from '../ui/text.ts';
import { seenWords } from './facets.tsx';
import { type Filters, parametersOf } from './filters.ts';
import { model } from './model.ts';
import { totalWords } from './words.ts';

const histogramPath = '/api/v1/portal/histogram';
const whoAndWhat = ['actor', 'userId', 'ip', 'fileName', 'fileHash'];

/** First and last event of the filtered value, such as an actor, over all time. */
export function Seen() {
  const filters = model.query.value.filters.filter(
    ({ name, isNot, values }) => whoAndWhat.includes(name) && !isNot && values.length === 1,
  );
  return filters.length === 0 ? null : <SeenOf key={JSON.stringify(filters)} filters={filters} />;
}

function SeenOf({ filters }: { readonly filters: Filters }) {
  const { resource } = useResource<Histogram>(withQuery(histogramPath, parametersOf(filters)));
  const { start, end } = resource.data.value?.meta ?? {};
  if (start === undefined || end === undefined) return null;
  return (
    <p class="seen muted">
      {t('eventsSeenEver', { seen: seenWords({ first_seen: start, last_seen: end }) })}
    </p>
  );
}

export function Compare() {
  return (
    <Opened class="seen muted" summary={t('eventsCompare')}>
      {() => <Compared />}
    </Opened>
  );
}

function Compared() {
  const path = withQuery(histogramPath, { ...model.asked.value, compare: 'previous' });
  const { resource } = useResource<Histogram>(path);
  return (
    <Loaded resource={resource}>
      {({ meta, previous }) => {
        if (previous === undefined) return t('eventsCompareNone');
        const { total, data, start, end } = previous;
        const change = total === 0 ? formatNumber(meta.total) : formatChange(meta.total / total - 1);
        return t('eventsCompared', {
          total: totalWords(total),
          failed: data.reduce((sum, { failure }) => sum + failure, 0),
          start: formatMoment(fromRfc3339(start) ?? 0),
          end: formatMoment(fromRfc3339(end) ?? 0),
          change,
        });
      }}
    </Loaded>
  );
}
