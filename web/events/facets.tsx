import type { TopValues } from '../api/types.ts';
import { t } from '../ui/text.ts';
import { FacetList, type FacetProps, seenWords } from './facet-list.tsx';
import { FilesFacet } from './files-facet.tsx';
import type { FilterName } from './filters.ts';
import { model } from './model.ts';
import { valueWords } from './words.ts';

/** What is most frequent among the events of the query, each a filter. */
export function Facets() {
  const data = model.top.data.value?.data;
  const isLoading = model.top.isLoading.value;
  return (
    <aside
      class="facets stack"
      aria-label={t('eventsFacets')}
      aria-busy={isLoading}
      data-stale={model.top.isStale.value}
    >
      {data === undefined && isLoading && <span class="skeleton" />}
      {data !== undefined &&
        facetsOf(data).map(([name, values]) => <Facet key={name} {...{ name, values }} />)}
      {data !== undefined && <FilesFacet />}
    </aside>
  );
}

/** The lists, each with what its values are called. */
function facetsOf(data: TopValues['data']): (readonly [FilterName, FacetProps['values']])[] {
  const { statuses, activities, actors, addresses, severities } = data;
  return [
    [
      'status',
      statuses.map(({ status, count }) => ({ value: status, words: valueWords('status', status), count })),
    ],
    [
      'activity',
      activities.map((one) => ({
        value: String(one.activity_id),
        words: one.activity_name,
        count: one.count,
      })),
    ],
    [
      'actor',
      actors.map((one) => ({
        value: one.email_addr,
        words: one.name ?? one.email_addr,
        count: one.count,
        note: seenWords(one),
      })),
    ],
    [
      'ip',
      addresses.map((one) => ({ value: one.ip, words: one.ip, count: one.count, note: seenWords(one) })),
    ],
    [
      'severity',
      severities.map(({ severity, count }) => ({
        value: severity,
        words: valueWords('severity', severity),
        count,
      })),
    ],
  ];
}

function Facet({ name, values }: FacetProps) {
  if (values.length === 0) return null;
  return (
    <section>
      <h2>{t(name)}</h2>
      <FacetList name={name} values={values} />
    </section>
  );
}
