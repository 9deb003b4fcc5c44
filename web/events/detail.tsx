import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { sleep } from '../api/rate-limit.ts';
import { Resource } from '../api/resource.ts';
import type { AuditEvent } from '../api/types.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Failure } from '../ui/failure.tsx';
import { Icon } from '../ui/icon.tsx';
import { layOut } from '../ui/json-text.ts';
import { JsonView } from '../ui/json-view.tsx';
import { t } from '../ui/text.ts';
import { formatAgo, formatExact } from '../ui/time.ts';
import { type EventDetail, readDetail } from './detail-data.ts';
import { Flow } from './flow.tsx';
import { limits } from './limits.ts';
import type { EventsModel } from './model.ts';
import { Summary } from './summary.tsx';

interface DetailProps {
  readonly model: EventsModel;
  /** Unix microseconds. */
  readonly micros: number;
  /** The row that was clicked; undefined where a link led here. */
  readonly row: AuditEvent | undefined;
}

const tabs = {
  summary: 'eventsDetailSummary',
  flow: 'eventsDetailFlow',
  json: 'eventsDetailJson',
  source: 'eventsDetailSource',
} as const;
type Tab = keyof typeof tabs;

/** One event closely. What the row knows is there at once, the rest a moment later. */
export function Detail({ model, micros, row }: DetailProps) {
  const [tab, setTab] = useState<Tab>('summary');
  const detail = useRef(new Resource<EventDetail | 'gone'>()).current;
  useEffect(() => {
    void detail.load(async (abort) => {
      await sleep(limits.detailSettleMs, abort);
      return (await readDetail(micros, row, abort)) ?? 'gone';
    });
    return () => detail.stop();
  }, [micros, row, detail]);
  const root = useFocusBack();
  const loaded =
    detail.data.value === 'gone' || detail.data.value?.event.time !== micros ? undefined : detail.data.value;
  const event = row ?? loaded?.event;
  const shown = (Object.keys(tabs) as Tab[]).filter((one) => one !== 'flow' || event?.flow_id !== undefined);
  const current = shown.includes(tab) ? tab : 'summary';
  return (
    <section
      ref={root}
      class="detail"
      aria-label={t('eventsDetail')}
      onKeyDown={(key) => {
        if (key.key === 'Escape') model.open(undefined);
      }}
    >
      <header>
        <h2>{event?.activity_name ?? t('eventsDetail')}</h2>
        <CopyButton text={() => location.href} label={t('eventsDetailLink')} />
        <button
          type="button"
          class="button icon-button quiet"
          aria-label={t('close')}
          onClick={() => model.open(undefined)}
        >
          <Icon name="close" />
        </button>
      </header>
      <p class="when-exact muted">
        {formatExact(micros)} · {formatAgo(micros)}
      </p>
      <TabList tabs={shown} current={current} onChange={setTab} />
      <div role="tabpanel" id="detail-panel" aria-label={t(tabs[current])} tabIndex={0}>
        {detail.error.value !== undefined && (
          <Failure error={detail.error.value} retryAt={detail.retryAt.value} onRetry={() => detail.retry()} />
        )}
        {detail.data.value === 'gone' && <p class="muted">{t('eventsDetailGone')}</p>}
        {event !== undefined && current === 'summary' && (
          <Summary model={model} event={event} detail={loaded} />
        )}
        {event?.flow_id !== undefined && current === 'flow' && (
          <Flow model={model} event={event} id={event.flow_id} />
        )}
        {current === 'json' && <Json text={loaded?.eventText} />}
        {current === 'source' && <Json text={loaded?.sourceText} />}
      </div>
    </section>
  );
}

/** An element whose end gives the focus, where it has it, to the table beside it. */
function useFocusBack() {
  const root = useRef<HTMLElement>(null);
  useLayoutEffect(
    () => () => {
      const element = root.current;
      if (element?.contains(document.activeElement) !== true) return;
      element.parentElement?.querySelector<HTMLElement>('[role="grid"]')?.focus();
    },
    [],
  );
  return root;
}

interface TabListProps {
  readonly tabs: readonly Tab[];
  readonly current: Tab;
  readonly onChange: (tab: Tab) => void;
}

function TabList({ tabs: shown, current, onChange }: TabListProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = shown[(shown.indexOf(current) + (step ?? 0) + shown.length) % shown.length];
    if (step === undefined || next === undefined) return;
    onChange(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div role="tablist" aria-label={t('eventsDetail')} onKeyDown={onKeyDown}>
      {shown.map((tab) => (
        <button
          key={tab}
          id={`tab-${tab}`}
          type="button"
          role="tab"
          aria-selected={tab === current}
          aria-controls="detail-panel"
          tabIndex={tab === current ? 0 : -1}
          onClick={() => onChange(tab)}
        >
          {t(tabs[tab])}
        </button>
      ))}
    </div>
  );
}

function Json({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return <span class="skeleton" />;
  return (
    <div class="json">
      <CopyButton
        text={() =>
          layOut(text)
            .map((piece) => piece.text)
            .join('')
        }
      />
      <JsonView text={text} />
    </div>
  );
}
