import { changePassword } from '../api/session.ts';
import { Field } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { announcement, t } from '../ui/text.ts';
import { NewPasswordField } from './new-password-field.tsx';

/** Another password of one's own. The page stays as it is. */
export function PasswordDialog({ email, onClose }: { readonly email: string; readonly onClose: () => void }) {
  return (
    <FormDialog
      title={t('accountPassword')}
      submit={t('save')}
      task={async (field) => {
        await changePassword(field('current'), field('next'));
        announcement.value = t('accountPasswordDone');
        onClose();
      }}
      isShown={({ status }) => status === 403}
      onClose={onClose}
    >
      {(error) => (
        <>
          <input type="email" name="email" value={email} autocomplete="username" readOnly hidden />
          <Field
            label={t('accountPasswordCurrent')}
            name="current"
            type="password"
            autocomplete="current-password"
            required
            fault={error?.status === 403 ? t('accountPasswordWrong') : undefined}
          />
          <NewPasswordField />
        </>
      )}
    </FormDialog>
  );
}
