import { send } from '../api/request.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { announcement, t } from '../ui/text.ts';
import type { UserDialogProps } from './user-dialog.ts';

/** The end of somebody's access, sessions included. */
export function DisableUser({ user, onDone, onClose }: UserDialogProps) {
  return (
    <FormDialog
      title={t('usersDisableTitle', { name: user.name })}
      submit={t('usersDisable')}
      isDanger
      onClose={onClose}
      task={async () => {
        await send('POST', `/api/v1/portal/users/${user.id}/disable`);
        announcement.value = t('usersDisabledNow', { name: user.name });
        onDone();
      }}
    >
      <p>{user.email}</p>
      <p class="muted">{t('usersDisableLead')}</p>
    </FormDialog>
  );
}
