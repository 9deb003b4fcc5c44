import type { ComponentChildren } from 'preact';
import type { AuditEvent } from '../api/types.ts';
import { formatNumber } from '../ui/format.ts';
import { Marked, markedText } from '../ui/marked.tsx';
import { t } from '../ui/text.ts';
import { isAddress } from './addresses.ts';
import { type EventDetail, fieldsOf } from './detail-data.ts';
import { Evidence } from './evidence.tsx';
import { type FilterName, isSameValue } from './filters.ts';
import { limits } from './limits.ts';
import { Value } from './value.tsx';
import { valueWords } from './words.ts';

const valueOf = (name: FilterName | undefined, value: string | undefined, words = value) =>
  value === undefined ? undefined : <Value name={name} value={value} words={words ?? value} />;

/**
 * The event in readable form; each value is a button with actions. Only the source event has the actor's id
 * and the sender's hash.
 */
export function Summary({ detail }: { readonly detail: EventDetail }) {
  const { event } = detail;
  const { severity, status, src_endpoint: { ip, port } = {} } = event;
  const source = fieldsOf(detail.sourceText);
  const { name, email_addr: email, type } = event.actor.user ?? {};
  return (
    <>
      <dl class="facts">
        <Fact name={t('eventsMessage')}>{valueOf(undefined, event.message)}</Fact>
        <Fact name={t('status')}>
          <span class={`state${status === 'Failure' ? ' failed' : ''}`}>
            {valueOf('status', status, valueWords('status', status))}
          </span>
          {valueOf(undefined, event.status_detail)}
        </Fact>
        <Fact name={t('activity')}>
          {valueOf('activity', String(event.activity_id), event.activity_name)}
          <span class="muted"> {event.activity_id}</span>
        </Fact>
        <Fact name={t('severity')}>{valueOf('severity', severity, valueWords('severity', severity))}</Fact>
        {/* The server identifies people by address. */}
        <Fact name={t('actor')}>
          {email && name ? valueOf('actor', email, name) : valueOf(undefined, name)}
        </Fact>
        <Fact name={t('email')}>{valueOf('actor', email)}</Fact>
        <Fact name={t('eventsDetailType')}>{valueOf(undefined, type)}</Fact>
        <Fact name={t('userId')}>{valueOf('userId', source.userId)}</Fact>
        <Fact name={t('eventsTarget')}>{valueOf('fileName', source.target)}</Fact>
        <Fact name={t('fileName')}>{valueOf('fileName', source.file)}</Fact>
        <Fact name={t('fileHash')}>{valueOf('fileHash', source.hash)}</Fact>
        <Fact name={t('ip')}>
          {ip !== undefined && (
            <>
              {valueOf(isAddress(ip) ? 'ip' : undefined, ip)}
              {port !== undefined && <span class="muted"> : {port}</span>}
            </>
          )}
        </Fact>
        <Fact name={t('flowId')}>{valueOf('flowId', event.flow_id)}</Fact>
      </dl>
      <Context pairs={event.enrichments ?? []} files={[source.target, source.file]} />
      <Evidence key={detail.seq} seq={detail.seq} />
    </>
  );
}

/** A line; none if there is no value. */
function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  if (children === undefined || children === false) return null;
  return (
    <>
      <dt class="cut muted" title={markedText(name)}>
        <Marked text={name} />
      </dt>
      <dd>{children}</dd>
    </>
  );
}

interface ContextProps {
  readonly pairs: NonNullable<AuditEvent['enrichments']>;
  /** File names that the server finds the event by. */
  readonly files: readonly (string | undefined)[];
}

/** The producer's own members. */
function Context({ pairs, files }: ContextProps) {
  if (pairs.length === 0) return null;
  const rest = pairs.length - limits.contextValues;
  const isFile = (value: string) => files.some((file) => file !== undefined && isSameValue(file, value));
  const filterOf = (name: string, value: string): FilterName | undefined =>
    name === 'fileHash' || (name === 'fileName' && isFile(value)) ? name : undefined;
  return (
    <>
      <h3>{t('eventsDetailContext')}</h3>
      <dl class="facts">
        {pairs.slice(0, limits.contextValues).map(({ name, value }) => (
          <Fact key={name} name={name}>
            {valueOf(filterOf(name, value), value)}
          </Fact>
        ))}
      </dl>
      {rest > 0 && <p class="muted">{t('eventsDetailContextMore', { n: formatNumber(rest) })}</p>}
    </>
  );
}
