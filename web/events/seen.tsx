import { get } from '../api/request.ts';
import type { Histogram } from '../api/types.ts';
import { useResource } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { seenWords } from './facet-list.tsx';
import { type Filters, parametersOf } from './filters.ts';
import { model } from './model.ts';

const whoAndWhat = ['actor', 'userId', 'ip', 'fileName', 'fileHash'];

/** First and last event of the filtered value, such as an actor, over all time. */
export function Seen() {
  const filters = model.query.value.filters.filter(
    ({ name, isNot, values }) => whoAndWhat.includes(name) && !isNot && values.length === 1,
  );
  return filters.length === 0 ? null : <SeenOf key={JSON.stringify(filters)} filters={filters} />;
}

function SeenOf({ filters }: { readonly filters: Filters }) {
  const { resource } = useResource<Histogram>(
    (signal) => get('/api/v1/portal/histogram', parametersOf(filters), { signal }),
    [],
  );
  const { start, end } = resource.data.value?.meta ?? {};
  if (start === undefined || end === undefined) return null;
  return (
    <p class="seen muted">
      {t('eventsSeenEver', { seen: seenWords({ first_seen: start, last_seen: end }) })}
    </p>
  );
}
