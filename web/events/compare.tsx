import { useState } from 'preact/hooks';
import { fromRfc3339 } from '../api/instant.ts';
import { get } from '../api/request.ts';
import type { Histogram } from '../api/types.ts';
import { formatChange, formatMoment, formatNumber } from '../ui/format.ts';
import { Loaded, useResource } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { model } from './model.ts';
import { totalWords } from './words.ts';

/** Compares with the previous range of the same length; loaded when opened. */
export function Compare() {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="seen muted" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{t('eventsCompare')}</summary>
      {isOpen && <Compared />}
    </details>
  );
}

function Compared() {
  const parameters = { ...model.asked.value, compare: 'previous' };
  const { resource } = useResource<Histogram>(
    (signal) => get('/api/v1/portal/histogram', parameters, { signal }),
    [model.asked.value],
  );
  return (
    <Loaded resource={resource}>
      {({ meta, previous }) => {
        if (previous === undefined) return t('eventsCompareNone');
        const { total, data, start, end } = previous;
        const change = total === 0 ? formatNumber(meta.total) : formatChange(meta.total / total - 1);
        return t('eventsCompared', {
          total: totalWords(total),
          failed: formatNumber(data.reduce((sum, { failure }) => sum + failure, 0)),
          start: formatMoment(fromRfc3339(start) ?? 0),
          end: formatMoment(fromRfc3339(end) ?? 0),
          change,
        });
      }}
    </Loaded>
  );
}
