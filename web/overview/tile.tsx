import type { ComponentChildren } from 'preact';
import { formatChange, formatNumber } from '../ui/format.ts';
import { t } from '../ui/text.ts';
import type { OverviewData } from './data.ts';
import { type Count, type Day, daysLike, totalOf, usualByNow } from './days.ts';

interface TileProps {
  readonly title: string;
  readonly href?: string;
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

/** Beyond this many times the usual, a figure stands out. */
const muchMore = 1.5;

interface DayTileProps {
  readonly title: string;
  readonly href: string;
  readonly data: OverviewData;
  readonly count: Count;
  /** More than usual is bad, and much more is worth a look. */
  readonly isOfFailures?: boolean;
}

/** A figure of today beside the usual one. */
export function DayTile({ title, href, data: { days, nowMs }, count, isOfFailures = false }: DayTileProps) {
  const value = totalOf(days[0], count);
  const usual = usualByNow(days, nowMs, count);
  const isMuch = isOfFailures && value > (usual ?? value) * muchMore;
  return (
    <Tile title={title} href={href} value={value} isBad={isOfFailures && value > (usual ?? value)}>
      {usual === undefined || usual === 0 ? (
        <p class="muted">{t(usual === 0 ? 'overviewUsualNone' : 'overviewUsualUnknown')}</p>
      ) : (
        <p class="muted">
          <strong class={isMuch ? 'attention' : ''}>{formatChange(value / usual)}</strong>{' '}
          {t('overviewUsual', { n: formatNumber(usual) })}
        </p>
      )}
      <Hours days={days} count={count} fill={isOfFailures ? 'var(--failure)' : 'var(--grey-7)'} />
    </Tile>
  );
}

const height = 32;

interface HoursProps {
  readonly days: readonly Day[];
  readonly count: Count;
  readonly fill: string;
}

/** Hours of today over those of the usual day, for the shape of it. */
function Hours({ days, count, fill }: HoursProps) {
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
  const bar = (fill: string, x: number, width: number, value: number) => {
    const tall = (value / highest) * height;
    return <rect fill={fill} x={x} width={width} y={height - tall} height={tall} />;
  };
  return (
    <svg class="hours" viewBox={`0 0 24 ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {bars.map(({ today, usual }, hour) => (
        <g key={hour}>
          {bar('var(--grey-4)', hour + 0.05, 0.9, usual)}
          {bar(fill, hour + 0.25, 0.5, today)}
        </g>
      ))}
    </svg>
  );
}
