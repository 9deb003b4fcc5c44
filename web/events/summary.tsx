import type { ComponentChildren } from 'preact';
import type { AuditEvent } from '../api/types.ts';
import { copyText } from '../ui/button.tsx';
import { Marked, markedText } from '../ui/marked.tsx';
import { ActionMenu } from '../ui/menu.tsx';
import { t } from '../ui/text.ts';
import { isAddress } from './addresses.ts';
import { type EventDetail, fieldsOf } from './detail-data.ts';
import { Evidence } from './evidence.tsx';
import { type FilterName, hasValue, isSameValue, withValue } from './filters.ts';
import { limits } from './limits.ts';
import { model } from './model.ts';
import { valueWords } from './words.ts';

const valueOf = (name: FilterName | undefined, value: string | undefined, words = value) =>
  value === undefined ? undefined : <Value name={name} value={value} words={words ?? value} />;

/** Each value is a button. Only the source event has the actor's id and the sender's hash. */
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
      {rest > 0 && <p class="muted">{t('eventsDetailContextMore', { n: rest })}</p>}
    </>
  );
}

interface ValueProps {
  /** The filter for such values; undefined if the server can only search their words. */
  readonly name: FilterName | undefined;
  readonly value: string;
  readonly words?: string;
}

function Value({ name, value, words = value }: ValueProps) {
  const { filters } = model.query.value;
  const hasOthers =
    name !== undefined &&
    !hasValue(filters, name, value) &&
    filters.some((one) => one.name === name && !one.isNot);
  const way = (
    text: 'eventsOnly' | 'eventsAlso' | 'eventsNot' | 'eventsWords',
    how: 'only' | 'also' | 'not',
  ) =>
    withValue(filters, name ?? 'q', value, how) === undefined
      ? []
      : [{ words: t(text), onChoose: () => model.filter(name ?? 'q', value, how) }];
  const shown = words.length > limits.valueCharacters ? `${words.slice(0, limits.valueCharacters)}…` : words;
  const actions = [
    ...way(name === undefined ? 'eventsWords' : 'eventsOnly', 'only'),
    ...(hasOthers ? way('eventsAlso', 'also') : []),
    ...(name === undefined ? [] : way('eventsNot', 'not')),
    { words: t('copy'), onChoose: () => void copyText(words) },
  ];
  return <ActionMenu name={shown} class="value" button={<Marked text={shown} />} actions={actions} />;
}
