import { get, type Parameters } from '../api/request.ts';
import type { AuditPage } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { Marked } from '../ui/marked.tsx';
import { FailureOf, useResource } from '../ui/resource.tsx';
import { formatNumber, t } from '../ui/text.ts';
import { parametersOf, withoutValue } from './filters.ts';
import { limits } from './limits.ts';
import { model } from './model.ts';
import { type EventQuery, exactRange, timeParameters } from './query.ts';
import { appliedFilters, filterSentence } from './words.ts';

interface Way {
  readonly words: string;
  readonly parameters: Parameters;
  readonly go: () => void;
}

/** No event matches: suggests filters to remove, with the number of events each would give. */
export function Nothing() {
  const query = model.query.value;
  const ways = waysOut(query);
  const { resource: counts } = useResource(
    (abort) => Promise.all(ways.slice(0, limits.waysCounted).map((way) => count(way, abort))),
    [query],
  );
  return (
    <div class="empty">
      <p>{t(query.filters.length === 0 ? 'eventsNoneYet' : 'eventsNone')}</p>
      <p class="empty-ways line">
        {ways.map(({ words, go }, index) => (
          <Button key={words} look="small" onClick={go}>
            <Marked text={words} />
            {index < limits.waysCounted && counts.error.value === undefined && (
              <span class="muted">{counts.data.value?.[index] ?? '…'}</span>
            )}
          </Button>
        ))}
      </p>
      <FailureOf resource={counts} isSmall />
    </div>
  );
}

function waysOut({ filters, range }: EventQuery): Way[] {
  const time = timeParameters(exactRange(range, model.askedAtMs.value));
  const ways = appliedFilters(model.list.data.value).map((one): Way => {
    const { name, isNot } = one;
    return {
      words: t('eventsNoneRemove', { filter: filterSentence(one) }),
      parameters: { ...parametersOf(withoutValue(filters, name, undefined, isNot)), ...time },
      go: () => model.unfilter(name, undefined, isNot),
    };
  });
  if (range === 'all') return ways;
  const go = () => model.change({ range: 'all' });
  return [...ways, { words: t('eventsNoneWiden'), parameters: parametersOf(filters), go }];
}

async function count({ parameters }: Way, abort: AbortSignal): Promise<string> {
  const page = await get<AuditPage>('/api/v1/portal/events', { ...parameters, limit: 1 }, { signal: abort });
  return formatNumber(page.meta.total);
}
