import { useState } from 'preact/hooks';
import type { TopValues } from '../api/types.ts';
import { Marked } from '../ui/marked.tsx';
import { markedText } from '../ui/marked-text.ts';
import { formatNumber } from '../ui/number.ts';
import { t, type TextKey } from '../ui/text.ts';
import { limits } from './limits.ts';
import type { EventsModel } from './model.ts';
import { type FilterName, hasValue } from './filters.ts';
import { severityName, statusName } from './words.ts';

interface FacetValue {
  readonly value: string;
  readonly words: string;
  readonly count: number;
}

/** What is most frequent among the events of the query, each a filter. */
export function Facets({ model }: { readonly model: EventsModel }) {
  const data = model.top.data.value?.data;
  const isLoading = model.top.isLoading.value;
  return (
    <aside
      class="facets"
      aria-label={t('eventsFacets')}
      aria-busy={isLoading}
      data-stale={model.top.isStale.value}
    >
      {data === undefined && isLoading && <Waiting />}
      <Facet model={model} name="status" title="status" values={statuses(data)} />
      <Facet model={model} name="activity" title="activity" values={activities(data)} />
      <Facet model={model} name="actor" title="actor" values={actors(data)} />
      <Facet model={model} name="severity" title="severity" values={severities(data)} />
    </aside>
  );
}

/** Lists as they will be, before the first answer. */
function Waiting() {
  return (
    <>
      {[2, limits.facetValues, limits.facetValues, 3].map((lines, list) => (
        <section key={list} class="waiting" aria-hidden="true">
          {Array.from({ length: lines + 1 }, (_, line) => (
            <span key={line} class="skeleton" style={{ width: line === 0 ? '30%' : `${90 - line * 6}%` }} />
          ))}
        </section>
      ))}
    </>
  );
}

type Data = TopValues['data'] | undefined;

const statuses = (data: Data): FacetValue[] =>
  (data?.statuses ?? []).map(({ status, count }) => ({ value: status, words: statusName(status), count }));

const activities = (data: Data): FacetValue[] =>
  (data?.activities ?? []).map(({ activity_id: id, activity_name: words, count }) => ({
    value: String(id),
    words,
    count,
  }));

const actors = (data: Data): FacetValue[] =>
  (data?.actors ?? []).map(({ email_addr: value, name, count }) => ({ value, words: name ?? value, count }));

const severities = (data: Data): FacetValue[] =>
  (data?.severities ?? []).map(({ severity, count }) => ({
    value: severity,
    words: severityName(severity),
    count,
  }));

interface FacetProps {
  readonly model: EventsModel;
  readonly name: FilterName;
  readonly title: TextKey;
  readonly values: readonly FacetValue[];
}

function Facet({ model, name, title, values }: FacetProps) {
  const [showsAll, setShowsAll] = useState(false);
  if (values.length === 0) return null;
  const { filters } = model.query.value;
  const highest = Math.max(...values.map(({ count }) => count));
  const shown = showsAll ? values : values.slice(0, limits.facetValues);
  return (
    <section>
      <h2>{t(title)}</h2>
      <ul>
        {shown.map(({ value, words, count }) => (
          <li key={value}>
            <button
              type="button"
              aria-pressed={hasValue(filters, name, value)}
              title={t('eventsFacetTitle', {
                value: markedText(words === value ? value : `${words} (${value})`),
              })}
              onClick={({ altKey }) => {
                if (hasValue(filters, name, value)) model.unfilter(name, value);
                else model.filter(name, value, altKey ? 'not' : 'only');
              }}
            >
              <span>
                <Marked text={words} />
              </span>
              <span>{formatNumber(count)}</span>
              <i aria-hidden="true" style={{ width: `calc((100% - 1rem) * ${count / highest})` }} />
            </button>
          </li>
        ))}
      </ul>
      {shown.length < values.length && (
        <button type="button" class="button quiet small" onClick={() => setShowsAll(true)}>
          {t('eventsFacetsMore', { n: values.length - shown.length })}
        </button>
      )}
    </section>
  );
}
