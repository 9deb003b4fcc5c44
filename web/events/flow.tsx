import { useEffect, useRef } from 'preact/hooks';
import { get } from '../api/request.ts';
import { Resource } from '../api/resource.ts';
import type { AuditEvent, AuditPage } from '../api/types.ts';
import { Loaded } from '../ui/loaded.tsx';
import { formatNumber } from '../ui/number.ts';
import { t } from '../ui/text.ts';
import { formatClock, formatDuration } from '../ui/time.ts';
import { isSame } from './detail-data.ts';
import { limits } from './limits.ts';
import type { EventsModel } from './model.ts';

interface FlowProps {
  readonly model: EventsModel;
  readonly event: AuditEvent;
  readonly id: string;
}

/** All events of the flow that an event belongs to, oldest first, with the time between them. */
export function Flow({ model, event, id }: FlowProps) {
  const page = useRef(new Resource<AuditPage>()).current;
  useEffect(() => {
    const parameters = { flowId: id, limit: limits.flowEvents };
    void page.load((abort) => get('/api/v1/portal/events', parameters, { signal: abort }));
    return () => page.stop();
  }, [id, page]);
  return (
    <Loaded resource={page}>{(loaded) => <Timeline model={model} event={event} page={loaded} />}</Loaded>
  );
}

interface TimelineProps {
  readonly model: EventsModel;
  readonly event: AuditEvent;
  readonly page: AuditPage;
}

function Timeline({ model, event, page }: TimelineProps) {
  const steps = page.data.toReversed();
  const [first, last] = [steps[0], steps.at(-1)];
  if (first === undefined || last === undefined) return null;
  return (
    <>
      <p class="muted">
        {t('eventsDetailFlowSteps', {
          n: formatNumber(page.meta.total),
          duration: formatDuration(last.time - first.time),
        })}{' '}
        <button
          type="button"
          class="button small"
          onClick={() => model.filter('flowId', event.flow_id ?? '')}
        >
          {t('eventsFilterBy', { value: t('eventsDetailFlow') })}
        </button>
      </p>
      <ol class="flow">
        {steps.map((step, index) => (
          <li key={index}>
            <span class="after">
              {index === 0
                ? formatClock(step.time)
                : `+${formatDuration(step.time - (steps[index - 1]?.time ?? 0))}`}
            </span>
            <span class={`dot${step.status === 'Failure' ? ' failed' : ''}`} aria-hidden="true" />
            <span
              class={isSame(step, event) ? 'here' : ''}
              aria-current={isSame(step, event) ? 'step' : undefined}
            >
              {step.activity_name}
              <br />
              <span class="muted">{step.message}</span>
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}
