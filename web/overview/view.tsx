import './view.css';
import type { ComponentChildren } from 'preact';
import { serverNow } from '../api/instant.ts';
import { formatChange, formatMinute, formatShare, formatWeekday, formatZone, today } from '../ui/format.ts';
import { RankContent } from '../ui/rank.tsx';
import { markedText } from '../ui/marked.tsx';
import { Page } from '../ui/page.tsx';
import { type Person, personWords, sharedNames } from '../ui/people.ts';
import { Loaded, useResource } from '../ui/resource.tsx';
import { hrefOf } from '../ui/router.ts';
import { formatNumber, t } from '../ui/text.ts';
import { type OverviewData, readOverview } from './data.ts';
import { allOf, type Count, daysLike, failuresOf, totalOf, usualByNow } from './days.ts';
import { HeatMap } from './heat-map.tsx';
import { limits } from './limits.ts';

export default function OverviewView() {
  // Until the next midnight, which depends on the zone.
  const { resource } = useResource(readOverview, [today.value]);
  const now = (resource.data.value?.nowMs ?? serverNow()) * 1000;
  const lead = t('overviewUntil', {
    day: formatWeekday(now),
    time: formatMinute(now),
    zone: formatZone(now),
  });
  return (
    <Page class="overview" title={t('overview')} lead={lead}>
      <Loaded resource={resource}>
        {(data) => <Content data={data} isStale={resource.isLoading.value} />}
      </Loaded>
    </Page>
  );
}

function todayHref(filters: Readonly<Record<string, string>> = {}): string {
  return hrefOf('events', new URLSearchParams({ range: 'today', ...filters }));
}

function Content({ data, isStale }: { readonly data: OverviewData; readonly isStale: boolean }) {
  const { days, today, failed } = data;
  const total = totalOf(days[0], allOf);
  const important = today.severities.find(({ severity }) => severity === 'High')?.count ?? 0;
  const like = daysLike(days).length;
  return (
    <div class="panels" data-stale={isStale} aria-busy={isStale}>
      <DayTile title={t('overviewToday')} href={todayHref()} data={data} count={allOf} />
      <DayTile
        title={t('overviewFailures')}
        href={todayHref({ status: 'Failure' })}
        data={data}
        count={failuresOf}
      />
      <Tile title={t('overviewImportant')} href={todayHref({ severity: 'High' })} value={important}>
        <p class="muted">{total > 0 && t('overviewShare', { share: formatShare(important / total) })}</p>
      </Tile>
      <NewActorsTile found={data.newActors} />
      <section class="panel wide">
        <h2>{t('overviewHeat')}</h2>
        <p class="muted">{t('overviewHeatHint')}</p>
        <HeatMap days={days} />
        {like > 0 && <p class="muted">{t('overviewUsualOf', { n: like })}</p>}
      </section>
      <div class="lists">
        <TopPanel title={t('overviewActive')} items={actorLinks(today.actors)} />
        <TopPanel title={t('overviewFailing')} items={failureLinks(failed)} />
      </div>
    </div>
  );
}

interface Item {
  readonly words: string;
  readonly title: string;
  readonly count: number;
  readonly href: string;
}

function failureLinks({ activities }: OverviewData['failed']): Item[] {
  return activities.map(({ activity_id: id, activity_name: words, count }) => {
    return { words, title: words, count, href: todayHref({ status: 'Failure', activity: String(id) }) };
  });
}

function actorLinks(actors: OverviewData['newActors']['actors']): Item[] {
  const shared = sharedNames(actors.map(({ name, email_addr: email }): Person => [name, email]));
  return actors.map(({ email_addr: actor, name, count }) => {
    return {
      words: personWords([name, actor], shared) ?? actor,
      title: actor,
      count,
      href: todayHref({ actor }),
    };
  });
}

function NewActorsTile({ found: { actors, checked } }: { readonly found: OverviewData['newActors'] }) {
  const words =
    checked === undefined
      ? t(actors.length === 0 ? 'overviewNewNone' : 'overviewNewHint')
      : t('overviewNewPart', { n: checked });
  return (
    <Tile title={t('overviewNew')} value={actors.length}>
      <p class="muted">{words}</p>
      <Ranks items={actorLinks(actors)} />
    </Tile>
  );
}

/** Each with a bar for its share of the first. */
function Ranks({ items }: { readonly items: readonly Item[] }) {
  const highest = items[0]?.count ?? 1;
  return (
    <ul class="ranks">
      {items.slice(0, limits.listValues).map(({ words, title, count, href }) => (
        <li key={href}>
          <a class="rank" style={{ '--share': count / highest }} href={href} title={markedText(title)}>
            <RankContent words={words} count={count} />
          </a>
        </li>
      ))}
    </ul>
  );
}

function TopPanel({ title, items }: { readonly title: string; readonly items: readonly Item[] }) {
  return (
    <section class="panel">
      <h2>{title}</h2>
      {items.length === 0 ? <p class="muted">{t('overviewNothing')}</p> : <Ranks items={items} />}
    </section>
  );
}

interface TileProps {
  readonly title: string;
  readonly href?: string;
  readonly value: number;
  /** `figure fault` if worse than usual. */
  readonly look?: string;
  readonly children: ComponentChildren;
}

function Tile({ title, href, value, look = 'figure', children }: TileProps) {
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
}

/** Any increase of failures is marked. */
function DayTile({ title, href, data: { days, nowMs }, count }: DayTileProps) {
  const value = totalOf(days[0], count);
  const usual = usualByNow(days, nowMs, count);
  const ratio = count === failuresOf && usual !== undefined ? value / usual : 0;
  return (
    <Tile title={title} href={href} value={value} look={ratio > 1 ? 'figure fault' : 'figure'}>
      {usual === undefined || usual === 0 ? (
        <p class="muted">{t(usual === 0 ? 'overviewUsualNone' : 'overviewUsualUnknown')}</p>
      ) : (
        <p class="muted">
          <strong class={ratio > muchMore ? 'attention' : ''}>{formatChange(value / usual - 1)}</strong>{' '}
          {t('overviewUsual', { n: usual })}
        </p>
      )}
    </Tile>
  );
}
