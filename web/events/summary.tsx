import type { ComponentChildren } from 'preact';
import type { AuditEvent } from '../api/types.ts';
import { membersOf } from '../ui/json-text.ts';
import { t } from '../ui/text.ts';
import type { EventDetail } from './detail-data.ts';
import { Evidence } from './evidence.tsx';
import type { EventsModel } from './model.ts';
import type { FilterName } from './query.ts';
import { severityName, statusName } from './words.ts';

interface SummaryProps {
  readonly model: EventsModel;
  readonly event: AuditEvent;
  /** With the source event, once it is here: that alone has the actor's id and the hash that its sender gave. */
  readonly detail: EventDetail | undefined;
}

/** The event as people read it. What the server can filter by is a button. */
export function Summary({ model, event, detail }: SummaryProps) {
  const { actor, src_endpoint: from } = event;
  const source = detail === undefined ? undefined : fieldsOf(detail.sourceText);
  const value = (name: FilterName, text: string | undefined, words = text) =>
    text === undefined ? undefined : (
      <FilterValue model={model} name={name} value={text} words={words ?? text} />
    );
  return (
    <>
      <dl class="facts">
        <Fact name={t('eventsMessage')}>{event.message}</Fact>
        <Fact name={t('status')}>
          <span class={`state${event.status === 'Failure' ? ' failed' : ''}`}>
            {value('status', event.status, statusName(event.status))}
          </span>
          {event.status_detail !== undefined && <span class="muted"> {event.status_detail}</span>}
        </Fact>
        <Fact name={t('activity')}>
          {value('activity', String(event.activity_id), event.activity_name)}
          <span class="muted"> {event.activity_id}</span>
        </Fact>
        <Fact name={t('severity')}>{value('severity', event.severity, severityName(event.severity))}</Fact>
        <Fact name={t('actor')}>{actor.user?.name}</Fact>
        <Fact name={t('email')}>{value('actor', actor.user?.email_addr)}</Fact>
        <Fact name={t('eventsDetailType')}>{actor.user?.type}</Fact>
        <Fact name={t('eventsUserId')}>{value('userId', source?.userId)}</Fact>
        <Fact name={t('eventsTarget')}>{value('fileName', source?.target)}</Fact>
        <Fact name={t('eventsHash')}>{value('fileHash', source?.hash)}</Fact>
        <Fact name={t('address')}>
          {from?.ip !== undefined && (
            <span class="mono">{`${from.ip}${from.port === undefined ? '' : ` : ${from.port}`}`}</span>
          )}
        </Fact>
        <Fact name={t('eventsDetailFlow')}>{value('flowId', event.flow_id)}</Fact>
      </dl>
      <Context model={model} event={event} />
      <Evidence seq={detail?.seq} />
    </>
  );
}

interface FactProps {
  readonly name: string;
  readonly children: ComponentChildren;
}

/** A line, or none where there is nothing to say. */
function Fact({ name, children }: FactProps) {
  if (children === undefined || children === false) return null;
  return (
    <>
      <dt title={name}>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

interface FilterValueProps {
  readonly model: EventsModel;
  readonly name: FilterName;
  readonly value: string;
  readonly words: string;
}

function FilterValue({ model, name, value, words }: FilterValueProps) {
  return (
    <button
      type="button"
      class="value"
      title={t('eventsFilterBy', { value: words })}
      onClick={() => model.filter(name, value)}
    >
      {words}
    </button>
  );
}

/** What the producer gave besides, by its own names. */
function Context({ model, event }: { readonly model: EventsModel; readonly event: AuditEvent }) {
  const pairs = event.enrichments ?? [];
  if (pairs.length === 0) return null;
  return (
    <>
      <h3>{t('eventsDetailContext')}</h3>
      <dl class="facts">
        {pairs.map(({ name, value }) => (
          <Fact key={name} name={name}>
            {name === 'fileName' || name === 'fileHash' ? (
              <FilterValue model={model} name={name} value={value} words={value} />
            ) : (
              value
            )}
          </Fact>
        ))}
      </dl>
    </>
  );
}

interface SourceFields {
  readonly userId: string | undefined;
  readonly target: string | undefined;
  readonly hash: string | undefined;
}

/** What filters compare and the audit event does not show. */
function fieldsOf(sourceText: string): SourceFields {
  const message = membersOf(membersOf(sourceText).get('message') ?? '{}');
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);
  const member = (name: string, inner: string) => {
    const value: unknown = JSON.parse(message.get(name) ?? 'null');
    return typeof value === 'object' && value !== null
      ? text((value as Record<string, unknown>)[inner])
      : undefined;
  };
  const target: unknown = JSON.parse(message.get('target') ?? 'null');
  return {
    userId: member('actor', 'id'),
    target: text(target) ?? member('target', 'name'),
    hash: member('sender', 'hash'),
  };
}
