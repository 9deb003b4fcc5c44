import { useState } from 'preact/hooks';
import { toRfc3339 } from '../api/instant.ts';
import { formatMinute, formatWeekday } from '../ui/format.ts';
import { hrefOf } from '../ui/router.ts';
import { t } from '../ui/text.ts';
import { allOf, type Day, type Hour } from './days.ts';

/** Shades of hours with events; one more marks outliers. */
const shades = 5;
/** The darkest shade begins at this quantile of hours; an outlier has this many times its count. */
const usualShare = 0.95;
const farOutTimes = 3;
const hoursNamedEvery = 3;
const steps: Readonly<Record<string, readonly [row: number, column: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** The count where the darkest shade begins: one hour of an attack must not make all others look alike. */
function fullCount(days: readonly Day[]): number {
  const counts = days.flatMap(({ hours }) => hours.map((hour) => (hour === undefined ? 0 : allOf(hour))));
  const busy = counts.filter((count) => count > 0).toSorted((a, b) => a - b);
  return busy[Math.floor(busy.length * usualShare)] ?? 1;
}

const look = (shade: number | 'far-out') => ({
  'data-shade': shade,
  style: { '--share': `${Number(shade) * (100 / shades)}%` },
});

const hoursOfDay = Array.from({ length: 24 }, (_, hour) => hour);

/** Each hour of the days as a field, darker with more events, linked to its events. */
export function HeatMap({ days }: { readonly days: readonly Day[] }) {
  // The one field that Tab reaches; arrow keys move from there.
  const [cursor, setCursor] = useState<readonly [row: number, column: number]>([0, 0]);
  const full = fullCount(days);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = steps[event.key];
    if (step === undefined || !(event.currentTarget instanceof Element)) return;
    event.preventDefault();
    const next = [cursor[0] + step[0], cursor[1] + step[1]] as const;
    const field = event.currentTarget.querySelector<HTMLElement>(`[data-at="${next.join(' ')}"]`);
    if (field === null) return;
    setCursor(next);
    field.focus();
  };
  return (
    <>
      <table class="heat" role="grid" aria-label={t('overviewHeatLabel')} onKeyDown={onKeyDown}>
        <thead>
          <tr>
            <td />
            {hoursOfDay.map((hour) => (
              <th key={hour} scope="col">
                <span class={hour % hoursNamedEvery === 0 ? '' : 'visually-hidden'}>
                  {String(hour).padStart(2, '0')}
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {days.map(({ start, hours }, row) => (
            <tr key={start}>
              <th scope="row">{formatWeekday(start)}</th>
              {hours.map((hour, column) => (
                <td key={column}>
                  {hour !== undefined && (
                    <a
                      {...fieldOf(hour, full)}
                      data-at={`${row} ${column}`}
                      tabIndex={row === cursor[0] && column === cursor[1] ? 0 : -1}
                      onFocus={() => setCursor([row, column])}
                    />
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <Legend full={full} />
    </>
  );
}

function fieldOf(hour: Hour, full: number) {
  const count = allOf(hour);
  const time = `${formatWeekday(hour.from)} ${formatMinute(hour.from)} – ${formatMinute(hour.to + 1)}`;
  const words = t('eventsOfTime', { time, n: count, failed: hour.failure });
  const range = new URLSearchParams({ from: toRfc3339(hour.from), to: toRfc3339(hour.to) });
  const shade =
    count >= full * farOutTimes ? 'far-out' : Math.min(shades, Math.ceil((count / full) * shades));
  return { ...look(shade), href: hrefOf('events', range), 'aria-label': words, title: words };
}

function Legend({ full }: { readonly full: number }) {
  return (
    <p class="legend line muted" aria-hidden="true">
      {t('overviewFew')}
      {Array.from({ length: shades + 1 }, (_, shade) => (
        <i key={shade} {...look(shade)} />
      ))}
      {t('overviewMany', { n: full })}
      <i {...look('far-out')} />
      {t('overviewFarOut', { n: full * farOutTimes })}
    </p>
  );
}
