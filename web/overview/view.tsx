import './view.css';
import type { ComponentChildren } from 'preact';
import { FailureOf } from '../ui/failure.tsx';
import { Marked } from '../ui/marked.tsx';
import { markedText } from '../ui/marked-text.ts';
import { formatNumber, formatShare } from '../ui/number.ts';
import { Page } from '../ui/page.tsx';
import { RankContent } from '../ui/rank.tsx';
import { RefreshButton } from '../ui/refresh-button.tsx';
import { t } from '../ui/text.ts';
import { formatMinute, formatWeekday, formatZone, zone } from '../ui/time.ts';
import { useResource } from '../ui/use-resource.ts';
import { type OverviewData, readOverview } from './data.ts';
import { allOf, daysLike, failuresOf, totalOf, usualByNow } from './days.ts';
import { HeatMap } from './heat-map.tsx';
import { limits } from './limits.ts';
import { todayHref } from './links.ts';
import { Comparison, Hours, Tile } from './tile.tsx';

/** Each morning's question: is anything odd? */
export default function OverviewView() {
  // Days begin elsewhere in another zone.
  const { resource, reload } = useResource(readOverview, [zone.value]);
  const data = resource.data.value;
  const now = (data?.nowMs ?? Date.now()) * 1000;
  const lead = t('overviewUntil', {
    day: formatWeekday(now),
    time: formatMinute(now),
    zone: formatZone(now),
  });
  const button = <RefreshButton resource={resource} onClick={reload} />;
  return (
    <Page class="overview" title={t('overview')} lead={lead} end={button}>
      <FailureOf resource={resource} />
      {data === undefined && resource.error.value === undefined && <Waiting />}
      {data !== undefined && <Content data={data} isStale={resource.isLoading.value} />}
    </Page>
  );
}

function Waiting() {
  return (
    <div class="panels" role="status" aria-label={t('loading')}>
      {['tile', 'tile', 'tile', 'tile', 'panel wide', 'panel'].map((name, index) => (
        <div key={index} class={name}>
          <span class="skeleton" style={{ width: '40%' }} />
          <span class="skeleton" style={{ width: '70%' }} />
        </div>
      ))}
    </div>
  );
}

function Content({ data, isStale }: { readonly data: OverviewData; readonly isStale: boolean }) {
  const { days, nowMs, today, failed } = data;
  const [total, failures] = [totalOf(days[0], allOf), totalOf(days[0], failuresOf)];
  const usualFailures = usualByNow(days, nowMs, failuresOf);
  const important = today.severities.find(({ severity }) => severity === 'High')?.count ?? 0;
  const like = daysLike(days).length;
  return (
    <div class="panels" data-stale={isStale} aria-busy={isStale}>
      <Tile title={t('overviewToday')} href={todayHref()} value={total}>
        <Comparison value={total} usual={usualByNow(days, nowMs, allOf)} />
        <Hours days={days} count={allOf} style="success" />
      </Tile>
      <Tile
        title={t('overviewFailures')}
        href={todayHref({ status: 'Failure' })}
        value={failures}
        isBad={failures > (usualFailures ?? failures)}
      >
        <Comparison value={failures} usual={usualFailures} warns />
        <Hours days={days} count={failuresOf} style="failure-bar" />
      </Tile>
      <Tile title={t('overviewImportant')} href={todayHref({ severity: 'High' })} value={important}>
        <p class="muted">{total > 0 && t('overviewShare', { share: formatShare(important / total) })}</p>
        <Names
          items={data.important.activities.map(({ activity_id: id, activity_name: words }) => ({
            words,
            href: todayHref({ severity: 'High', activity: String(id) }),
          }))}
        />
      </Tile>
      <NewActorsTile found={data.newActors} />
      <section class="panel wide">
        <h2>{t('overviewHeat')}</h2>
        <p class="muted">{t('overviewHeatHint')}</p>
        <HeatMap days={days} />
        {like > 0 && <p class="muted">{t('overviewUsualOf', { n: like })}</p>}
      </section>
      <div class="lists">
        <Panel title={t('overviewActive')}>
          <List
            items={today.actors.map(({ email_addr: actor, name, count }) => ({
              words: name ?? actor,
              count,
              href: todayHref({ actor }),
            }))}
          />
        </Panel>
        <Panel title={t('overviewFailing')}>
          <List
            items={failed.activities.map(({ activity_id: id, activity_name: words, count }) => ({
              words,
              count,
              href: todayHref({ status: 'Failure', activity: String(id) }),
            }))}
          />
        </Panel>
      </div>
    </div>
  );
}

function NewActorsTile({ found: { actors, checked } }: { readonly found: OverviewData['newActors'] }) {
  return (
    <Tile title={t('overviewNew')} value={actors.length}>
      <p class="muted">{newActorsWords(actors.length, checked)}</p>
      <Names
        items={actors.slice(0, limits.listValues).map(({ email_addr: actor, name }) => ({
          words: name ?? actor,
          title: actor,
          href: todayHref({ actor }),
        }))}
      />
    </Tile>
  );
}

function newActorsWords(count: number, checked: number | undefined): string {
  if (checked !== undefined) return t('overviewNewPart', { n: formatNumber(checked) });
  return t(count === 0 ? 'overviewNewNone' : 'overviewNewHint');
}

interface NamesProps {
  readonly items: readonly { readonly words: string; readonly title?: string; readonly href: string }[];
}

/** What a tile's figure is made of, as links. */
function Names({ items }: NamesProps) {
  return (
    <ul class="names line">
      {items.map(({ words, title = words, href }) => (
        <li key={href} class="cut">
          <a href={href} title={markedText(title)}>
            <Marked text={words} />
          </a>
        </li>
      ))}
    </ul>
  );
}

function Panel({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="panel">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

interface Item {
  readonly words: string;
  readonly count: number;
  readonly href: string;
}

/** The most frequent ones, each with a bar for its share of the first. */
function List({ items }: { readonly items: readonly Item[] }) {
  const highest = items[0]?.count ?? 1;
  if (items.length === 0) return <p class="muted">{t('overviewNothing')}</p>;
  return (
    <ul class="ranks">
      {items.slice(0, limits.listValues).map(({ words, count, href }) => (
        <li key={href}>
          <a class="rank" href={href} title={markedText(words)}>
            <RankContent words={words} count={count} highest={highest} />
          </a>
        </li>
      ))}
    </ul>
  );
}
