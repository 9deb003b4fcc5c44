import { useState } from 'preact/hooks';
import { send } from '../api/request.ts';
import type { ApiKey } from '../api/types.ts';
import { Field } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { announcement, t } from '../ui/text.ts';
import { nameOf } from './columns.tsx';

interface RevokeKeyProps {
  readonly apiKey: ApiKey;
  readonly onRevoked: () => void;
  readonly onClose: () => void;
}

/** Ends a key, once its name is typed: there is no way back. */
export function RevokeKey({ apiKey, onRevoked, onClose }: RevokeKeyProps) {
  const [typed, setTyped] = useState('');
  const name = nameOf(apiKey);
  return (
    <FormDialog
      title={t('apiKeysRevokeTitle', { name })}
      submit={t('apiKeysRevoke')}
      isDanger
      isReady={typed.trim() === name}
      onClose={onClose}
      task={async () => {
        await send('POST', `/api/v1/portal/api-keys/${apiKey.id}/revoke`);
        announcement.value = t('apiKeysRevokedNow', { name });
        onRevoked();
      }}
    >
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
