import { fromRfc3339 } from '../api/instant.ts';
import type { ApiKey } from '../api/types.ts';
import { ActionMenu } from '../ui/action-menu.tsx';
import type { Column } from '../ui/list-table.tsx';
import { Marked } from '../ui/marked.tsx';
import { Moment } from '../ui/moment.tsx';
import { isNarrow } from '../ui/screen.ts';
import { t } from '../ui/text.ts';

const dayMicros = 86_400_000_000;
/** A key that ends so soon is marked. */
const soonDays = 14;

/** What people call it. */
export function nameOf({ name, id }: ApiKey): string {
  return name ?? id;
}

export function keyColumns(onChoose: (what: 'rotate' | 'revoke', key: ApiKey) => void): Column<ApiKey>[] {
  return [
    { title: t('name'), cell: (key) => <Name apiKey={key} /> },
    { title: t('apiKeysScopes'), isSecondary: true, cell: (key) => <Scopes apiKey={key} /> },
    {
      title: t('apiKeysLimit'),
      isSecondary: true,
      cell: ({ rate_limit: limit }) => limit ?? <span class="muted">{t('apiKeysLimitDefault')}</span>,
    },
    { title: t('created'), isSecondary: true, cell: (key) => <Moment at={key.created_at} /> },
    {
      title: t('apiKeysLastUsed'),
      isSecondary: true,
      cell: ({ last_used_at: at }) =>
        at === undefined ? <span class="muted">{t('apiKeysNever')}</span> : <Moment at={at} />,
    },
    { title: t('apiKeysEnds'), cell: (key) => <End apiKey={key} /> },
    {
      title: t('actions'),
      isForButtons: true,
      cell: (key) => (
        <ActionMenu
          name={nameOf(key)}
          actions={
            key.state === 'active'
              ? [
                  { words: t('apiKeysRotate'), onChoose: () => onChoose('rotate', key) },
                  { words: t('apiKeysRevoke'), isDanger: true, onChoose: () => onChoose('revoke', key) },
                ]
              : []
          }
        />
      ),
    },
  ];
}

function Name({ apiKey }: { readonly apiKey: ApiKey }) {
  return (
    <>
      <Marked text={nameOf(apiKey)} />
      <p class="mono">ak_{apiKey.id}_…</p>
      {isNarrow.value && (
        <p>
          <Scopes apiKey={apiKey} />
        </p>
      )}
      {isNarrow.value && apiKey.last_used_at !== undefined && (
        <p>
          {t('apiKeysLastUsed')} <Moment at={apiKey.last_used_at} />
        </p>
      )}
      <Grace apiKey={apiKey} />
    </>
  );
}

function Scopes({ apiKey }: { readonly apiKey: ApiKey }) {
  return <>{apiKey.scopes.map((scope) => t(scopeWords[scope])).join(', ')}</>;
}

const scopeWords = { read: 'apiKeysReads', write: 'apiKeysWrites', scim: 'apiKeysUsers' } as const;

/** While the secret before the last rotation works as well. */
function Grace({ apiKey: { previous_valid_until: until, state } }: { readonly apiKey: ApiKey }) {
  if (until === undefined || state !== 'active' || Date.parse(until) <= Date.now()) return null;
  return (
    <p>
      {t('apiKeysGraceUntil')} <Moment at={until} />
    </p>
  );
}

/** When it has ended or will, marked where that is soon. */
function End({ apiKey: { state, expires_at: expires, revoked_at: revoked } }: { readonly apiKey: ApiKey }) {
  if (state === 'revoked' && revoked !== undefined) {
    return (
      <>
        <span class="badge">{t('apiKeysRevoked')}</span> <Moment at={revoked} />
      </>
    );
  }
  if (expires === undefined) return <span class="muted">{t('apiKeysNever')}</span>;
  const daysLeft = ((fromRfc3339(expires) ?? 0) - Date.now() * 1000) / dayMicros;
  return (
    <>
      {state === 'expired' && <span class="badge">{t('apiKeysExpired')}</span>}
      {state === 'active' && daysLeft < soonDays && <span class="badge warning">{t('apiKeysSoon')}</span>}{' '}
      <Moment at={expires} />
    </>
  );
}
