import { useState } from 'preact/hooks';
import { fromRfc3339 } from '../api/instant.ts';
import { withQuery } from '../api/request.ts';
import type { TopFiles, TopValues } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { formatBytes, formatMoment } from '../ui/format.ts';
import { markedText } from '../ui/marked.tsx';
import { Opened } from '../ui/opened.tsx';
import { personWords } from '../ui/people.ts';
import { RankContent } from '../ui/rank.tsx';
import { Loaded, useResource } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { type FilterName, hasValue } from './filters.ts';
import { limits } from './limits.ts';
import { model } from './model.ts';
import { valueWords } from './words.ts';

export function Facets() {
  const { top } = model;
  return (
    <aside
      class="facets stack"
      aria-label={t('eventsFacets')}
      aria-busy={top.isLoading.value}
      data-stale={top.isStale.value}
    >
      <Loaded resource={top} isSmall>
        {({ data }) => {
          const facets = facetsOf(data).filter(({ values }) => values.length > 0);
          if (facets.length === 0) return <p class="muted">{t('eventsFacetsEmpty')}</p>;
          return (
            <>
              {facets.map((facet) => (
                <section key={facet.name}>
                  <h2>{t(facet.name)}</h2>
                  <FacetList {...facet} />
                </section>
              ))}
              <Opened summary={<h2>{t('eventsFiles')}</h2>}>{() => <Files />}</Opened>
            </>
          );
        }}
      </Loaded>
    </aside>
  );
}

function facetsOf(data: TopValues['data']): FacetProps[] {
  const { statuses, activities, actors, addresses, severities, without } = data;
  const absent = (count: number) => (count > 0 ? [{ value: '', count }] : []);
  const people = actors.map(({ email_addr: value, name, count, ...seen }) => {
    const words = personWords([name, value], model.shared.value) ?? value;
    return { value, words, count, note: seenWords(seen) };
  });
  const places = addresses.map(({ ip: value, count, ...seen }) => ({ value, count, note: seenWords(seen) }));
  return [
    { name: 'status', values: statuses.map(({ status: value, count }) => ({ value, count })) },
    {
      name: 'activity',
      values: activities.map(({ activity_id: id, count }) => ({ value: String(id), count })),
    },
    { name: 'actor', values: [...people, ...absent(without.actor)] },
    { name: 'ip', values: [...places, ...absent(without.ip)] },
    { name: 'severity', values: severities.map(({ severity: value, count }) => ({ value, count })) },
  ];
}

/** Files with their bytes. Loaded when opened: the server reads the text of all events for it. */
function Files() {
  const path = withQuery('/api/v1/portal/top-files', { ...model.asked.value, limit: limits.topValues });
  const { resource } = useResource<TopFiles>(path);
  return (
    <Loaded resource={resource}>
      {({ data }) => {
        if (data.length === 0) return <p class="muted">{t('eventsFilesNone')}</p>;
        const values = data.map(({ name: value, count, bytes, ...seen }) => {
          return { value, count, note: seenWords(seen), sum: formatBytes(bytes) };
        });
        return <FacetList name="fileName" values={values} />;
      }}
    </Loaded>
  );
}

/** A value of a list. `note` is in the tooltip, `sum` (such as bytes) beside the count. */
interface FacetValue {
  readonly value: string;
  readonly words?: string;
  readonly count: number;
  readonly note?: string;
  readonly sum?: string;
}

interface FacetProps {
  readonly name: FilterName;
  readonly values: readonly FacetValue[];
}

/** `First seen 22 Nov 09:30, last seen 23 Nov 10:00`. */
export function seenWords({ first_seen, last_seen }: Record<'first_seen' | 'last_seen', string>): string {
  const [first, last] = [first_seen, last_seen].map((time) => formatMoment(fromRfc3339(time) ?? 0));
  return t('eventsSeen', { first: first ?? '', last: last ?? '' });
}

function FacetList({ name, values }: FacetProps) {
  const [showsAll, setShowsAll] = useState(false);
  const { filters } = model.query.value;
  const highest = Math.max(...values.map(({ count }) => count));
  const shown = showsAll ? values : values.slice(0, limits.facetValues);
  return (
    <>
      <ul>
        {shown.map(({ value, words = valueWords(name, value), count, note, sum }) => (
          <li key={value}>
            <button
              type="button"
              class="rank"
              style={{ '--share': count / highest }}
              aria-pressed={hasValue(filters, name, value)}
              title={[
                t('eventsFacetTitle', {
                  value: markedText(words === value || value === '' ? words : `${words} (${value})`),
                }),
                ...(note === undefined ? [] : [note]),
              ].join('\n')}
              onClick={({ altKey }) => {
                if (hasValue(filters, name, value)) model.unfilter(name, value);
                else model.filter(name, value, altKey ? 'not' : 'only');
              }}
            >
              <RankContent words={words} count={count} sum={sum} />
            </button>
          </li>
        ))}
      </ul>
      {shown.length < values.length && (
        <Button look="quiet small" onClick={() => setShowsAll(true)}>
          {t('listMore', { n: values.length - shown.length })}
        </Button>
      )}
    </>
  );
}
