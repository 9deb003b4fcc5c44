import { useState } from 'preact/hooks';
import { send } from '../api/request.ts';
import type { IssuedApiKey, NewApiKey } from '../api/types.ts';
import { Field } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { NameField } from '../ui/name-field.tsx';
import { Options } from '../ui/options.tsx';
import { SelectField } from '../ui/select-field.tsx';
import { t } from '../ui/text.ts';

interface NewKeyProps {
  readonly onIssued: (key: IssuedApiKey) => void;
  readonly onClose: () => void;
}

type Scope = NewApiKey['scopes'][number];

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
export function NewKey({ onIssued, onClose }: NewKeyProps) {
  const [given, setGiven] = useState<readonly Scope[]>(['read']);
  return (
    <FormDialog
      title={t('apiKeysNew')}
      submit={t('apiKeysMake')}
      isReady={given.length > 0}
      onClose={onClose}
      task={async (field) => {
        const [expires, requests] = [field('expires'), field('requests')];
        const body: NewApiKey = {
          scopes: [...given],
          name: field('name').trim(),
          ...(expires !== never && { expires }),
          ...(requests !== '' && { rate_limit: `${requests}/${limitWindow}` }),
        };
        onIssued(await send<IssuedApiKey>('POST', '/api/v1/portal/api-keys', body));
      }}
    >
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
      <SelectField
        label={t('apiKeysEnds')}
        name="expires"
        value="90d"
        options={[
          ...expiryDays.map((n) => [`${n}d`, t('apiKeysIn', { n })] as const),
          [never, t('apiKeysNever')],
        ]}
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
