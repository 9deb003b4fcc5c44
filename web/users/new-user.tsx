import { send } from '../api/request.ts';
import type { User } from '../api/types.ts';
import { Field } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { NameField } from '../ui/name-field.tsx';
import { t } from '../ui/text.ts';
import { RoleField } from './role-field.tsx';

interface NewUserProps {
  readonly onMade: (user: User) => void;
  readonly onClose: () => void;
}

/** Makes a user without a password: a link that comes next lets that person choose one, where there are passwords. */
export function NewUser({ onMade, onClose }: NewUserProps) {
  return (
    <FormDialog
      title={t('usersNew')}
      submit={t('usersMake')}
      onClose={onClose}
      isShown={({ status }) => status === 409}
      task={async (field) => {
        const body = { name: field('name').trim(), email: field('email').trim(), role: field('role') };
        onMade(await send<User>('POST', '/api/v1/portal/users', body));
      }}
    >
      {(error) => (
        <>
          <NameField />
          <Field
            label={t('email')}
            name="email"
            type="email"
            required
            autocomplete="off"
            fault={error?.status === 409 ? t('usersTaken') : undefined}
          />
          <RoleField value="member" />
        </>
      )}
    </FormDialog>
  );
}
