import { useRef, useState } from 'preact/hooks';
import { formatNumber } from '../ui/number.ts';
import { t } from '../ui/text.ts';
import { formatMinute, formatWeekday } from '../ui/time.ts';
import { allOf, type Day, type Hour } from './days.ts';
import { betweenHref } from './links.ts';

/** Shades beside that of nothing; one more stands for an hour that is far out. */
const shades = 5;
/** So many hours of a hundred are not above what the darkest shade begins with, and that many times it is far out. */
const usualShare = 0.95;
const farOutTimes = 3;
const hoursNamedEvery = 3;
const steps: Readonly<Record<string, readonly [row: number, column: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

/** The count that the darkest shade begins with: one hour of an attack must not make all others look alike. */
function fullCount(days: readonly Day[]): number {
  const counts = days.flatMap(({ hours }) => hours.map((hour) => (hour === undefined ? 0 : allOf(hour))));
  const busy = counts.filter((count) => count > 0).toSorted((a, b) => a - b);
  return busy[Math.floor(busy.length * usualShare)] ?? 1;
}

function shadeOf(count: number, full: number): number | 'far-out' {
  return count >= full * farOutTimes ? 'far-out' : Math.min(shades, Math.ceil((count / full) * shades));
}

const look = (shade: number | 'far-out') => ({
  'data-shade': shade,
  style: { '--share': `${Number(shade) * (100 / shades)}%` },
});

/** Each hour of the days as a field, the darker the more happened; a field leads to its events. */
export function HeatMap({ days }: { readonly days: readonly Day[] }) {
  const root = useRef<HTMLTableElement>(null);
  // The one field that the tab key reaches; arrow keys go on from there.
  const [cursor, setCursor] = useState(() => ({ row: 0, column: 0 }));
  const full = fullCount(days);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const [row, column] = [cursor.row + step[0], cursor.column + step[1]];
    const field = root.current?.querySelector<HTMLElement>(`[data-at="${row} ${column}"]`);
    if (!field) return;
    setCursor({ row, column });
    field.focus();
  };
  return (
    <>
      <table ref={root} class="heat" role="grid" aria-label={t('overviewHeatLabel')} onKeyDown={onKeyDown}>
        <thead>
          <tr>
            <td />
            {Array.from({ length: 24 }, (_, hour) => (
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
                    <Field
                      hour={hour}
                      full={full}
                      at={`${row} ${column}`}
                      isReached={row === cursor.row && column === cursor.column}
                      onFocus={() => setCursor({ row, column })}
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

interface FieldProps {
  readonly hour: Hour;
  readonly full: number;
  readonly at: string;
  readonly isReached: boolean;
  readonly onFocus: () => void;
}

function Field({ hour, full, at, isReached, onFocus }: FieldProps) {
  const count = allOf(hour);
  const words = t('eventsOfTime', {
    time: `${formatWeekday(hour.from)} ${formatMinute(hour.from)} – ${formatMinute(hour.to + 1)}`,
    n: formatNumber(count),
    failed: formatNumber(hour.failure),
  });
  return (
    <a
      href={betweenHref(hour.from, hour.to)}
      data-at={at}
      {...look(shadeOf(count, full))}
      aria-label={words}
      title={words}
      tabIndex={isReached ? 0 : -1}
      onFocus={onFocus}
    />
  );
}

function Legend({ full }: { readonly full: number }) {
  return (
    <p class="legend line muted" aria-hidden="true">
      {t('overviewFew')}
      {Array.from({ length: shades + 1 }, (_, shade) => (
        <i key={shade} {...look(shade)} />
      ))}
      {t('overviewMany', { n: formatNumber(full) })}
      <i {...look('far-out')} />
      {t('overviewFarOut', { n: formatNumber(full * farOutTimes) })}
    </p>
  );
}
