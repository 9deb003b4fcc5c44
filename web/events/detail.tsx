import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { sleep } from '../api/rate-limit.ts';
import { who } from '../api/session.ts';
import type { Row } from '../api/types.ts';
import { CloseButton, CopyButton } from '../ui/button.tsx';
import { formatAgo, formatExact } from '../ui/format.ts';
import { Choice } from '../ui/forms.tsx';
import { layOut } from '../ui/json-text.ts';
import { JsonView } from '../ui/json-view.tsx';
import { Marked } from '../ui/marked.tsx';
import { FailureOf, useResource } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { Around } from './around.tsx';
import { readDetail } from './detail-data.ts';
import { limits } from './limits.ts';
import { model } from './model.ts';
import { timeOfPlace } from './query.ts';
import { Summary } from './summary.tsx';

export interface DetailProps {
  readonly place: string;
  readonly row: Row | undefined;
}

const tabs = ['summary', 'around', 'json', 'source'] as const;
type Tab = (typeof tabs)[number];

/** One event in full. The row's values show at once, the rest after a request. */
export function Detail({ place, row }: DetailProps) {
  const [tab, setTab] = useState<Tab>('summary');
  const first = useRef(place).current;
  const { resource: detail } = useResource(
    async (abort) => {
      if (place !== first) await sleep(limits.detailSettleMs, abort);
      return (await readDetail(place, abort)) ?? ('gone' as const);
    },
    [place],
  );
  const root = useFocusBack();
  const isHere = !detail.isLoading.value && detail.error.value === undefined;
  const loaded = isHere && detail.data.value !== 'gone' ? detail.data.value : undefined;
  const event = loaded?.event;
  const micros = event?.time ?? timeOfPlace(place) ?? 0;
  return (
    <section
      ref={root}
      class="detail"
      aria-label={t('eventsDetail')}
      onKeyDown={(key) => {
        if (key.key === 'Escape') model.open(undefined);
      }}
    >
      <header class="line">
        <h2 class="cut">
          <Marked text={(row ?? event)?.activity_name ?? t('eventsDetail')} />
        </h2>
        <CopyButton text={() => model.linkTo(place)} label={t('eventsDetailLink')} />
        <CloseButton onClick={() => model.open(undefined)} />
      </header>
      <p class="when-exact muted">
        {formatExact(micros)} · {formatAgo(micros)}
      </p>
      <Choice
        label={t('eventsDetail')}
        value={tab}
        options={tabs.map((one) => [one, t(`detail_${one}`)])}
        onChange={setTab}
      />
      <div class="detail-panel" role="group" aria-label={t(`detail_${tab}`)} tabIndex={0}>
        <FailureOf resource={detail} />
        {isHere && detail.data.value === 'gone' && (
          <p class="muted">{t('eventsDetailGone', { organization: who.value?.organization.name ?? '' })}</p>
        )}
        {loaded === undefined && detail.isLoading.value && <span class="skeleton" />}
        {loaded !== undefined && tab === 'summary' && <Summary detail={loaded} />}
        {loaded !== undefined && tab === 'around' && <Around detail={loaded} />}
        {loaded !== undefined && tab === 'json' && <Json text={loaded.eventText} />}
        {loaded !== undefined && tab === 'source' && <Json text={loaded.sourceText} />}
      </div>
    </section>
  );
}

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

function Json({ text }: { readonly text: string }) {
  return (
    <div class="json">
      <CopyButton text={() => layOut(text)} />
      <JsonView text={text} />
    </div>
  );
}
