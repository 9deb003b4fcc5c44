import type { ComponentChildren } from 'preact';
import { serverNow } from '../api/instant.ts';
import type { ApiKey, ApiKeys, IssuedApiKey } from '../api/types.ts';
import { isNarrow } from '../ui/browser.ts';
import { type Column, ListPage, Moment, useDialog } from '../ui/list.tsx';
import { Marked } from '../ui/marked.tsx';
import { useResource } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { IssuedKey, nameOf, NewKey, RevokeKey, RotateKey } from './dialogs.tsx';

export default function ApiKeysView() {
  const { resource, reload } = useResource<ApiKeys>('/api/v1/portal/api-keys');
  const { dialog, ask, onClose, onDone } = useDialog(reload);
  // Newest first; keys that no longer work last.
  const keys = resource.data.value?.data.toReversed();
  const items = keys?.toSorted((a, b) => Number(hasEnded(a)) - Number(hasEnded(b)));
  const onIssued = (issued: IssuedApiKey) => onDone(<IssuedKey {...{ issued, onClose }} />);
  const actions = (apiKey: ApiKey) => [
    { words: t('apiKeysRotate'), onChoose: () => ask(<RotateKey {...{ apiKey, onIssued, onClose }} />) },
    {
      words: t('apiKeysRevoke'),
      isDanger: true,
      onChoose: () => ask(<RevokeKey {...{ apiKey, onDone, onClose }} />),
    },
  ];
  return (
    <ListPage
      title={t('apiKeys')}
      lead={t('apiKeysLead')}
      make={t('apiKeysNew')}
      onMake={() => ask(<NewKey {...{ onIssued, onClose }} />)}
      resource={resource}
      items={items}
      columns={keyColumns()}
      nameOf={nameOf}
      actions={(key) => (hasEnded(key) ? [] : actions(key))}
      empty={t('apiKeysNone')}
      dialog={dialog}
    />
  );
}

const hasEnded = ({ state }: ApiKey): boolean => state !== 'active';

const dayMs = 86_400_000;
/** Keys that expire within this many days are marked. */
const soonDays = 14;

const scopesOf = ({ scopes }: ApiKey): string => scopes.map((scope) => t(`scope_${scope}`)).join(', ');

function keyColumns(): Column<ApiKey>[] {
  const or = (words: string, cell: ComponentChildren) => cell ?? <span class="muted">{words}</span>;
  const never = t('apiKeysNever');
  return [
    { title: t('name'), cell: nameCell },
    { title: t('apiKeysScopes'), look: 'roomy-only', cell: scopesOf },
    {
      title: t('apiKeysLimit'),
      look: 'roomy-only',
      cell: ({ rate_limit: limit }) => or(t('apiKeysLimitDefault'), limit),
    },
    { title: t('created'), look: 'roomy-only', cell: ({ created_at: at }) => <Moment at={at} /> },
    {
      title: t('apiKeysLastUsed'),
      look: 'roomy-only',
      cell: ({ last_used_at: at }) => or(never, at && <Moment at={at} />),
    },
    {
      title: t('apiKeysEnds'),
      cell: (key) => or(never, (key.revoked_at ?? key.expires_at) && endCell(key)),
    },
  ];
}

function nameCell(key: ApiKey) {
  const { id, state, last_used_at: used, previous_valid_until: until } = key;
  const hasGrace = until !== undefined && state === 'active' && Date.parse(until) > serverNow();
  return (
    <>
      <Marked text={nameOf(key)} />
      <p class="mono">ak_{id}_…</p>
      {isNarrow.value && <p>{scopesOf(key)}</p>}
      {isNarrow.value && used !== undefined && (
        <p>
          {t('apiKeysLastUsed')} <Moment at={used} />
        </p>
      )}
      {hasGrace && (
        <p>
          {t('apiKeysGraceUntil')} <Moment at={until} />
        </p>
      )}
    </>
  );
}

function endCell({ state, expires_at: expires = '', revoked_at: revoked }: ApiKey) {
  const isSoon = Date.parse(expires) - serverNow() < soonDays * dayMs;
  return (
    <>
      {state !== 'active' && <span class="badge">{t(`state_${state}`)}</span>}
      {state === 'active' && isSoon && <span class="badge warning">{t('apiKeysSoon')}</span>}{' '}
      <Moment at={revoked ?? expires} />
    </>
  );
}
