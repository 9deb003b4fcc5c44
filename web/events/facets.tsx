import { useState } from 'preact/hooks';
import type { TopValues } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { RankContent } from '../ui/list.tsx';
import { markedText } from '../ui/marked.tsx';
import { personWords } from '../ui/people.ts';
import { FailureOf } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { type FilterName, hasValue } from './filters.ts';
import { limits } from './limits.ts';
import { model } from './model.ts';
import { valueWords } from './words.ts';

/** What is most frequent among the events of the query, each a filter. */
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
    </aside>
  );
}

interface FacetProps {
  readonly name: FilterName;
  readonly values: readonly (readonly [value: string, words: string, count: number])[];
}

/** The lists, each with what its values are called. */
function facetsOf(data: TopValues['data']): (readonly [FilterName, FacetProps['values']])[] {
  const { statuses, activities, actors, severities } = data;
  return [
    ['status', statuses.map((one) => [one.status, valueWords('status', one.status), one.count])],
    ['activity', activities.map((one) => [String(one.activity_id), one.activity_name, one.count])],
    ['actor', actors.map(({ email_addr: email, name, count }) => [email, personOf(name, email), count])],
    ['severity', severities.map((one) => [one.severity, valueWords('severity', one.severity), one.count])],
  ];
}

const personOf = (name: string | undefined, email: string): string =>
  personWords([name, email], model.shared.value) ?? email;

function Facet({ name, values }: FacetProps) {
  const [showsAll, setShowsAll] = useState(false);
  const { filters } = model.query.value;
  const highest = Math.max(...values.map(([, , count]) => count));
  const shown = showsAll ? values : values.slice(0, limits.facetValues);
  return (
    <section>
      <h2>{t(name)}</h2>
      <ul>
        {shown.map(([value, words, count]) => (
          <li key={value}>
            <button
              type="button"
              class="rank"
              style={{ '--share': count / highest }}
              aria-pressed={hasValue(filters, name, value)}
              title={t('eventsFacetTitle', {
                value: markedText(words === value ? value : `${words} (${value})`),
              })}
              onClick={({ altKey }) => {
                if (hasValue(filters, name, value)) model.unfilter(name, value);
                else model.filter(name, value, altKey ? 'not' : 'only');
              }}
            >
              <RankContent words={words} count={count} />
            </button>
          </li>
        ))}
      </ul>
      {shown.length < values.length && (
        <Button look="quiet small" onClick={() => setShowsAll(true)}>
          {t('listMore', { n: values.length - shown.length })}
        </Button>
      )}
    </section>
  );
}
