import type { ComponentChildren } from 'preact';
import { formatChange, formatNumber } from '../ui/format.ts';
import { t } from '../ui/text.ts';
import type { OverviewData } from './data.ts';
import { type Count, totalOf, usualByNow } from './days.ts';

interface TileProps {
  readonly title: string;
  readonly href?: string;
  readonly value: number;
  /** `figure fault` if worse than usual. */
  readonly look?: string;
  readonly children: ComponentChildren;
}

/** A number with its meaning, linked to its events. */
export function Tile({ title, href, value, look = 'figure', children }: TileProps) {
  return (
    <section class="tile">
      <h2>{title}</h2>
      <a class={look} {...(href !== undefined && { href })}>
        {formatNumber(value)}
      </a>
      {children}
    </section>
  );
}

/** A count beyond this multiple of the usual stands out. */
const muchMore = 1.5;

interface DayTileProps {
  readonly title: string;
  readonly href: string;
  readonly data: OverviewData;
  readonly count: Count;
  /** Any increase is marked, not only a large one. */
  readonly isOfFailures?: boolean;
}

/** A count of today beside the usual one. */
export function DayTile({ title, href, data: { days, nowMs }, count, isOfFailures = false }: DayTileProps) {
  const value = totalOf(days[0], count);
  const usual = usualByNow(days, nowMs, count);
  const ratio = isOfFailures && usual !== undefined ? value / usual : 0;
  return (
    <Tile title={title} href={href} value={value} look={ratio > 1 ? 'figure fault' : 'figure'}>
      {usual === undefined || usual === 0 ? (
        <p class="muted">{t(usual === 0 ? 'overviewUsualNone' : 'overviewUsualUnknown')}</p>
      ) : (
        <p class="muted">
          <strong class={ratio > muchMore ? 'attention' : ''}>{formatChange(value / usual - 1)}</strong>{' '}
          {t('overviewUsual', { n: formatNumber(usual) })}
        </p>
      )}
    </Tile>
  );
}
