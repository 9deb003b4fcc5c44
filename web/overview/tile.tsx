import type { ComponentChildren } from 'preact';
import { formatChange, formatNumber } from '../ui/number.ts';
import { t } from '../ui/text.ts';
import type { Count, Day } from './days.ts';
import { daysLike } from './days.ts';

interface TileProps {
  readonly title: string;
  readonly href?: string | undefined;
  readonly value: number;
  /** Worse than usual. */
  readonly isBad?: boolean;
  readonly children: ComponentChildren;
}

/** A figure with what it means, and the way to what it counts. */
export function Tile({ title, href, value, isBad = false, children }: TileProps) {
  const figure = <span class={`figure${isBad ? ' fault' : ''}`}>{formatNumber(value)}</span>;
  return (
    <section class="tile">
      <h2>{title}</h2>
      {href === undefined ? figure : <a href={href}>{figure}</a>}
      {children}
    </section>
  );
}

interface ComparisonProps {
  readonly value: number;
  readonly usual: number | undefined;
  /** Whether much more than usual is worth a look. */
  readonly warns?: boolean;
}

/** Beyond this many times the usual, a figure stands out. */
const muchMore = 1.5;

/** A figure beside the usual one. */
export function Comparison({ value, usual, warns = false }: ComparisonProps) {
  if (usual === undefined) return <p class="muted">{t('overviewUsualUnknown')}</p>;
  if (usual === 0) return <p class="muted">{t('overviewUsualNone')}</p>;
  const isMuch = warns && value > usual * muchMore;
  return (
    <p class="muted">
      <strong class={isMuch ? 'much' : ''}>{formatChange(value / usual)}</strong>{' '}
      {t('overviewUsual', { n: formatNumber(usual) })}
    </p>
  );
}

const height = 32;

interface HoursProps {
  readonly days: readonly Day[];
  readonly count: Count;
  readonly style: 'success' | 'failure-bar';
}

/** Hours of today over those of the usual day, for the shape of it. */
export function Hours({ days, count, style }: HoursProps) {
  const others = daysLike(days);
  const at = (day: Day | undefined, hour: number) => {
    const found = day?.hours[hour];
    return found === undefined ? 0 : count(found);
  };
  const bars = Array.from({ length: 24 }, (_, hour) => ({
    today: at(days[0], hour),
    usual: others.reduce((sum, day) => sum + at(day, hour), 0) / Math.max(1, others.length),
  }));
  const highest = Math.max(1, ...bars.flatMap(({ today, usual }) => [today, usual]));
  const bar = (name: string, x: number, width: number, value: number) => {
    const tall = (value / highest) * height;
    return <rect class={name} x={x} width={width} y={height - tall} height={tall} />;
  };
  return (
    <svg class="hours" viewBox={`0 0 24 ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {bars.map(({ today, usual }, hour) => (
        <g key={hour}>
          {bar('usual', hour + 0.05, 0.9, usual)}
          {bar(style, hour + 0.25, 0.5, today)}
        </g>
      ))}
    </svg>
  );
}
