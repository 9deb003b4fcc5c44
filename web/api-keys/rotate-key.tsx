import { send } from '../api/request.ts';
import type { ApiKey, IssuedApiKey } from '../api/types.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { SelectField } from '../ui/select-field.tsx';
import { t } from '../ui/text.ts';
import { nameOf } from './columns.tsx';

interface RotateKeyProps {
  readonly apiKey: ApiKey;
  readonly onIssued: (key: IssuedApiKey) => void;
  readonly onClose: () => void;
}

/** Asks for how long the present secret goes on beside the new one. */
export function RotateKey({ apiKey, onIssued, onClose }: RotateKeyProps) {
  return (
    <FormDialog
      title={t('apiKeysRotateTitle', { name: nameOf(apiKey) })}
      submit={t('apiKeysRotate')}
      onClose={onClose}
      task={async (field) => {
        const body = { grace: field('grace') };
        onIssued(await send<IssuedApiKey>('POST', `/api/v1/portal/api-keys/${apiKey.id}/rotate`, body));
      }}
    >
      <p class="muted">{t('apiKeysRotateLead')}</p>
      <SelectField
        label={t('apiKeysGrace')}
        name="grace"
        value="24h"
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
