import type { ComponentChildren } from 'preact';
import { serverNow } from '../api/instant.ts';
import type { ApiKey } from '../api/types.ts';
import { isNarrow } from '../ui/browser.ts';
import { type Column, Moment } from '../ui/list.tsx';
import { Marked } from '../ui/marked.tsx';
import { t } from '../ui/text.ts';

const dayMs = 86_400_000;
/** Keys that expire within this many days are marked. */
const soonDays = 14;

export function nameOf({ name, id }: ApiKey): string {
  return name ?? id;
}

const scopesOf = ({ scopes }: ApiKey): string => scopes.map((scope) => t(`scope_${scope}`)).join(', ');

export function keyColumns(): Column<ApiKey>[] {
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
