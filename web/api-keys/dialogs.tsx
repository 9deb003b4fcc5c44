import { useState } from 'preact/hooks';
import { send } from '../api/request.ts';
import type { ApiKey, IssuedApiKey, NewApiKey } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { NameField } from '../ui/name-field.tsx';
import { Options } from '../ui/options.tsx';
import { Secret } from '../ui/secret.tsx';
import type { Fields } from '../ui/submission.ts';
import { announcement, t } from '../ui/text.ts';
import { nameOf } from './columns.tsx';

export type Open =
  | { readonly what: 'new' }
  | { readonly what: 'rotate' | 'revoke'; readonly key: ApiKey }
  | { readonly what: 'issued'; readonly key: IssuedApiKey };

interface Ways {
  readonly onIssued: (key: IssuedApiKey) => void;
  readonly onRevoked: () => void;
  readonly onClose: () => void;
}

export function KeyDialog({ open, ...ways }: Ways & { readonly open: Open }) {
  switch (open.what) {
    case 'new':
      return <NewKey {...ways} />;
    case 'rotate':
      return <RotateKey apiKey={open.key} {...ways} />;
    case 'revoke':
      return <RevokeKey apiKey={open.key} {...ways} />;
    case 'issued':
      return <IssuedKey issued={open.key} {...ways} />;
    default:
      return open satisfies never;
  }
}

const scopes = [
  ['read', 'apiKeysReads', 'apiKeysReadsMay'],
  ['write', 'apiKeysWrites', 'apiKeysWritesMay'],
  ['scim', 'apiKeysUsers', 'apiKeysUsersMay'],
] as const;

/** In what a limit is counted: the service's own limits have this window. */
const limitWindow = '15s';
const expiryDays = [30, 90, 365] as const;
const never = '';

/** Asks what a new key may do. */
function NewKey({ onIssued, onClose }: Ways) {
  const [given, setGiven] = useState<NewApiKey['scopes']>(['read']);
  const task = async (field: Fields) => {
    const [expires, requests] = [field('expires'), field('requests')];
    const body: NewApiKey = {
      scopes: given,
      name: field('name').trim(),
      ...(expires !== never && { expires }),
      ...(requests !== '' && { rate_limit: `${requests}/${limitWindow}` }),
    };
    onIssued(await send<IssuedApiKey>('POST', '/api/v1/portal/api-keys', body));
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
        options={scopes.map(([value, words, note]) => ({ value, words: t(words), note: t(note) }))}
        isChosen={(scope) => scope === 'read'}
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

type OfKey = Ways & { readonly apiKey: ApiKey };

/** Asks for how long the present secret goes on beside the new one. */
function RotateKey({ apiKey, onIssued, onClose }: OfKey) {
  const task = async (field: Fields) => {
    const path = `/api/v1/portal/api-keys/${apiKey.id}/rotate`;
    onIssued(await send<IssuedApiKey>('POST', path, { grace: field('grace') }));
  };
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

/** Ends a key, once its name is typed: there is no way back. */
function RevokeKey({ apiKey, onRevoked, onClose }: OfKey) {
  const [typed, setTyped] = useState('');
  const name = nameOf(apiKey);
  const task = async () => {
    await send('POST', `/api/v1/portal/api-keys/${apiKey.id}/revoke`);
    announcement.value = t('apiKeysRevokedNow', { name });
    onRevoked();
  };
  const form = { title: t('apiKeysRevokeTitle', { name }), submit: t('apiKeysRevoke') };
  return (
    <FormDialog {...form} isDanger isReady={typed.trim() === name} task={task} onClose={onClose}>
      <p class="muted">{t('apiKeysRevokeLead')}</p>
      <Field
        label={t('apiKeysRevokeType', { name })}
        name="name"
        value={typed}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        autofocus
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </FormDialog>
  );
}

/** A key at the only moment when its text is known: only its button closes this. */
function IssuedKey({ issued, onClose }: Ways & { readonly issued: IssuedApiKey }) {
  const { key, scopes } = issued;
  const ask = `curl -H 'X-API-Key: ${key}'`;
  const path = `${location.origin}/api/v1/audit`;
  const message = { timestamp: new Date().toISOString(), action: 1001, actor: 'zoe@example.com' };
  const write = `${ask} -H 'Content-Type: application/json' -d '${JSON.stringify({ message })}' ${path}`;
  return (
    <Dialog title={nameOf(issued)}>
      <div class="form issued-key">
        <p class="once">{t('apiKeysOnce')}</p>
        <Secret label={t('apiKeysKey')} text={key} />
        {scopes.includes('read') && <Secret label={t('apiKeysCurlRead')} text={`${ask} '${path}?limit=5'`} />}
        {scopes.includes('write') && <Secret label={t('apiKeysCurlWrite')} text={write} />}
        <div class="actions">
          <Button look="primary" onClick={onClose}>
            {t('apiKeysStored')}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
