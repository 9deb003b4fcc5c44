import type { ComponentChildren } from 'preact';
import type { AuditEvent } from '../api/types.ts';
import { membersOf } from '../ui/json-text.ts';
import { Marked } from '../ui/marked.tsx';
import { markedText } from '../ui/marked-text.ts';
import { formatNumber } from '../ui/number.ts';
import { t } from '../ui/text.ts';
import type { EventDetail } from './detail-data.ts';
import { Evidence } from './evidence.tsx';
import { limits } from './limits.ts';
import type { EventsModel } from './model.ts';
import type { FilterName } from './filters.ts';
import { isAddress } from './suggestions.ts';
import { Value } from './value.tsx';
import { severityName, statusName } from './words.ts';

interface SummaryProps {
  readonly model: EventsModel;
  /** With the source event: that alone has the actor's id and the hash that its sender gave. */
  readonly detail: EventDetail;
}

/** The event as people read it. Each value is a button for what can be done with it. */
export function Summary({ model, detail }: SummaryProps) {
  const { event } = detail;
  const { actor, src_endpoint: from } = event;
  const source = fieldsOf(detail.sourceText);
  const value = (name: FilterName | undefined, text: string | undefined, words = text) =>
    text === undefined ? undefined : <Value model={model} name={name} value={text} words={words ?? text} />;
  const { name, email_addr: email } = actor.user ?? {};
  // The server knows people by their addresses.
  const named =
    name === undefined || email === undefined ? value(undefined, name) : value('actor', email, name);
  return (
    <>
      <dl class="facts">
        <Fact name={t('eventsMessage')}>{value(undefined, event.message)}</Fact>
        <Fact name={t('status')}>
          <span class={`state${event.status === 'Failure' ? ' failed' : ''}`}>
            {value('status', event.status, statusName(event.status))}
          </span>
          {value(undefined, event.status_detail)}
        </Fact>
        <Fact name={t('activity')}>
          {value('activity', String(event.activity_id), event.activity_name)}
          <span class="muted"> {event.activity_id}</span>
        </Fact>
        <Fact name={t('severity')}>{value('severity', event.severity, severityName(event.severity))}</Fact>
        <Fact name={t('actor')}>{named}</Fact>
        <Fact name={t('email')}>{value('actor', email)}</Fact>
        <Fact name={t('eventsDetailType')}>{value(undefined, actor.user?.type)}</Fact>
        <Fact name={t('eventsUserId')}>{value('userId', source.userId)}</Fact>
        <Fact name={t('eventsTarget')}>{value('fileName', source.target)}</Fact>
        <Fact name={t('eventsHash')}>{value('fileHash', source.hash)}</Fact>
        <Fact name={t('address')}>
          {from?.ip !== undefined && (
            <>
              {value(isAddress(from.ip) ? 'ip' : undefined, from.ip)}
              {from.port !== undefined && <span class="muted"> : {from.port}</span>}
            </>
          )}
        </Fact>
        <Fact name={t('eventsDetailFlow')}>{value('flowId', event.flow_id)}</Fact>
      </dl>
      <Context model={model} event={event} />
      <Evidence seq={detail.seq} />
    </>
  );
}

/** A line, or none where there is nothing to say. */
function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  if (children === undefined || children === false) return null;
  return (
    <>
      <dt class="cut" title={markedText(name)}>
        <Marked text={name} />
      </dt>
      <dd>{children}</dd>
    </>
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
        {pairs.slice(0, limits.contextValues).map(({ name, value }) => (
          <Fact key={name} name={name}>
            <Value
              model={model}
              name={name === 'fileName' || name === 'fileHash' ? name : undefined}
              value={value}
              words={value}
            />
          </Fact>
        ))}
      </dl>
      {pairs.length > limits.contextValues && (
        <p class="muted">
          {t('eventsDetailContextMore', { n: formatNumber(pairs.length - limits.contextValues) })}
        </p>
      )}
    </>
  );
}

interface SourceFields {
  readonly userId: string | undefined;
  readonly target: string | undefined;
  readonly hash: string | undefined;
}

/** What filters compare and the audit event does not show. */
export function fieldsOf(sourceText: string): SourceFields {
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
