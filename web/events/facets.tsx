import type { TopValues } from '../api/types.ts';
import { personWords } from '../ui/people.ts';
import { FailureOf } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { FacetList, type FacetProps, seenWords } from './facet-list.tsx';
import { FilesFacet } from './files-facet.tsx';
import type { FilterName } from './filters.ts';
import { model } from './model.ts';
import { valueWords } from './words.ts';

/** The most frequent values of the query, each a filter. */
export function Facets() {
  const { value: isLoading } = model.top.isLoading;
  const hasFailed = model.top.error.value !== undefined;
  const data = hasFailed ? undefined : model.top.data.value?.data;
  const facets = data && facetsOf(data).filter(([, values]) => values.length > 0);
  return (
    <aside
      class="facets stack"
      aria-label={t('eventsFacets')}
      aria-busy={isLoading}
      data-stale={model.top.isStale.value}
    >
      <FailureOf resource={model.top} isSmall />
      {facets === undefined && isLoading && <span class="skeleton" role="status" aria-label={t('loading')} />}
      {facets?.length === 0 && <p class="muted">{t('eventsFacetsEmpty')}</p>}
      {facets?.map(([name, values]) => (
        <Facet key={name} {...{ name, values }} />
      ))}
      {facets !== undefined && facets.length > 0 && <FilesFacet />}
    </aside>
  );
}

function facetsOf(data: TopValues['data']): (readonly [FilterName, FacetProps['values']])[] {
  const { statuses, activities, actors, addresses, severities, without } = data;
  const absent = (count: number) => (count > 0 ? [{ value: '', words: t('eventsAbsent'), count }] : []);
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
      [
        ...actors.map((one) => ({
          value: one.email_addr,
          words: personOf(one.name, one.email_addr),
          count: one.count,
          note: seenWords(one),
        })),
        ...absent(without.actor),
      ],
    ],
    [
      'ip',
      [
        ...addresses.map((one) => ({ value: one.ip, words: one.ip, count: one.count, note: seenWords(one) })),
        ...absent(without.ip),
      ],
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

const personOf = (name: string | undefined, email: string): string =>
  personWords([name, email], model.shared.value) ?? email;

function Facet({ name, values }: FacetProps) {
  return (
    <section>
      <h2>{t(name)}</h2>
      <FacetList name={name} values={values} />
    </section>
  );
}
