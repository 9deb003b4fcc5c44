import { useState } from 'preact/hooks';
import { serverNow } from '../api/instant.ts';
import { send } from '../api/request.ts';
import type { ApiKey, IssuedApiKey, NewApiKey } from '../api/types.ts';
import { Field, type Fields, FormDialog, NameField, Options } from '../ui/forms.tsx';
import { Secret } from '../ui/secret.tsx';
import { announcement, t } from '../ui/text.ts';

const path = '/api/v1/portal/api-keys';

export function nameOf({ name, id }: ApiKey): string {
  return name ?? id;
}

interface Ways {
  readonly onIssued: (key: IssuedApiKey) => void;
  readonly onClose: () => void;
}

const scopes = ['read', 'write', 'scim'] as const;
/** The service's own limits use this window. */
const limitWindow = '15s';
const expiryDays = [30, 90, 365] as const;
const never = '';

export function NewKey({ onIssued, onClose }: Ways) {
  const [given, setGiven] = useState<NewApiKey['scopes']>(['read']);
  const task = async (field: Fields) => {
    const [expires, requests] = [field('expires'), field('requests')];
    const body: NewApiKey = {
      scopes: given,
      name: field('name').trim(),
      ...(expires !== never && { expires }),
      ...(requests !== '' && { rate_limit: `${requests}/${limitWindow}` }),
    };
    onIssued(await send<IssuedApiKey>('POST', path, body));
  };
  const ends = expiryDays.map((n) => [`${n}d`, t('apiKeysIn', { n })] as const);
  const form = { title: t('apiKeysNew'), submit: t('apiKeysMake'), isReady: given.length > 0 };
  return (
    <FormDialog {...form} task={task} onClose={onClose}>
      <NameField hint={t('apiKeysNameHint')} />
      <Options
        label={t('apiKeysScopes')}
        name="scopes"
        type="checkbox"
        options={scopes.map((scope) => [scope, t(`scope_${scope}`), t(`scope_${scope}_may`)])}
        chosen="read"
        onChange={(scope, isChosen) =>
          setGiven(isChosen ? [...given, scope] : given.filter((one) => one !== scope))
        }
      />
      <Field
        label={t('apiKeysEnds')}
        name="expires"
        defaultValue="90d"
        options={[...ends, [never, t('apiKeysNever')]]}
      />
      <Field
        label={t('apiKeysRequests')}
        name="requests"
        type="number"
        min={1}
        step={1}
        placeholder={t('apiKeysLimitDefault')}
        hint={t('apiKeysRequestsHint')}
      />
    </FormDialog>
  );
}

export function RotateKey({ apiKey, onIssued, onClose }: Ways & { readonly apiKey: ApiKey }) {
  const task = async (field: Fields) =>
    onIssued(await send<IssuedApiKey>('POST', `${path}/${apiKey.id}/rotate`, { grace: field('grace') }));
  const title = t('apiKeysRotateTitle', { name: nameOf(apiKey) });
  return (
    <FormDialog title={title} submit={t('apiKeysRotate')} onClose={onClose} task={task}>
      <p class="muted">{t('apiKeysRotateLead')}</p>
      <Field
        label={t('apiKeysGrace')}
        name="grace"
        defaultValue="24h"
        options={[
          ['0', t('apiKeysGraceNone')],
          ['1h', t('apiKeysGraceHour')],
          ['24h', t('apiKeysGraceHours', { n: 24 })],
          ['7d', t('apiKeysGraceDays', { n: 7 })],
          ['30d', t('apiKeysGraceDays', { n: 30 })],
        ]}
        hint={t('apiKeysGraceHint')}
      />
    </FormDialog>
  );
}

interface RevokeKeyProps {
  readonly apiKey: ApiKey;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function RevokeKey({ apiKey, onDone, onClose }: RevokeKeyProps) {
  const name = nameOf(apiKey);
  const task = async () => {
    await send('POST', `${path}/${apiKey.id}/revoke`);
    announcement.value = t('apiKeysRevokedNow', { name });
    onDone();
  };
  const form = { title: t('apiKeysRevokeTitle', { name }), submit: t('apiKeysRevoke'), look: 'danger' };
  return (
    <FormDialog {...form} task={task} onClose={onClose}>
      <p class="muted">{t('apiKeysRevokeLead')}</p>
    </FormDialog>
  );
}

/** Shows a new key. Its text cannot be shown again. */
export function IssuedKey({ issued, onClose }: Pick<Ways, 'onClose'> & { readonly issued: IssuedApiKey }) {
  const { key, scopes } = issued;
  const ask = `curl -H 'X-API-Key: ${key}'`;
  const audit = `${location.origin}/api/v1/audit`;
  const message = { timestamp: new Date(serverNow()).toISOString(), action: 1001, actor: 'zoe@example.com' };
  const write = `${ask} -H 'Content-Type: application/json' -d '${JSON.stringify({ message })}' ${audit}`;
  return (
    <FormDialog title={nameOf(issued)} submit={t('apiKeysStored')} task={async () => onClose()}>
      <p class="once">{t('apiKeysOnce')}</p>
      <Secret label={t('apiKeysKey')} text={key} />
      {scopes.includes('read') && <Secret label={t('apiKeysCurlRead')} text={`${ask} '${audit}?limit=5'`} />}
      {scopes.includes('write') && <Secret label={t('apiKeysCurlWrite')} text={write} />}
    </FormDialog>
  );
}
