import { send } from '../api/request.ts';
import type { User } from '../api/types.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { t } from '../ui/text.ts';
import { RoleField } from './role-field.tsx';
import type { UserDialogProps } from './user-dialog.ts';

/** Another role: it holds at once, in open sessions as well. */
export function UserRole({ user, onDone, onClose }: UserDialogProps) {
  return (
    <FormDialog
      title={t('usersRoleTitle', { name: user.name })}
      submit={t('save')}
      onClose={onClose}
      task={async (field) => {
        await send<User>('PATCH', `/api/v1/portal/users/${user.id}`, { role: field('role') });
        onDone();
      }}
    >
      <RoleField value={user.role} />
    </FormDialog>
  );
}
