import { useState } from 'preact/hooks';
import { fromRfc3339 } from '../api/instant.ts';
import { Button } from '../ui/button.tsx';
import { formatMoment } from '../ui/format.ts';
import { RankContent } from '../ui/rank.tsx';
import { markedText } from '../ui/marked.tsx';
import { t } from '../ui/text.ts';
import { type FilterName, hasValue } from './filters.ts';
import { limits } from './limits.ts';
import { model } from './model.ts';

/** A value of a list. `note` is in the tooltip, `sum` (such as bytes) beside the count. */
export interface FacetValue {
  readonly value: string;
  readonly words: string;
  readonly count: number;
  readonly note?: string;
  readonly sum?: string;
}

export interface FacetProps {
  readonly name: FilterName;
  readonly values: readonly FacetValue[];
}

interface SeenTimes {
  readonly first_seen: string;
  readonly last_seen: string;
}

/** `First seen 22 Nov 09:30, last seen 23 Nov 10:00`. */
export function seenWords({ first_seen, last_seen }: SeenTimes): string {
  const [first, last] = [first_seen, last_seen].map((time) => formatMoment(fromRfc3339(time) ?? 0));
  return t('eventsSeen', { first: first ?? '', last: last ?? '' });
}

/** Values of a filter; the first few until the list is opened. */
export function FacetList({ name, values }: FacetProps) {
  const [showsAll, setShowsAll] = useState(false);
  const { filters } = model.query.value;
  const highest = Math.max(...values.map(({ count }) => count));
  const shown = showsAll ? values : values.slice(0, limits.facetValues);
  return (
    <>
      <ul>
        {shown.map(({ value, words, count, note, sum }) => (
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
