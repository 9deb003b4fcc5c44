import { useState } from 'preact/hooks';
import { send } from '../api/request.ts';
import { changePassword } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { Field, focus, Form, FormDialog, formFault } from '../ui/forms.tsx';
import { go } from '../ui/router.ts';
import { announcement, t } from '../ui/text.ts';
import { Entrance } from './entrance.tsx';

const passwordCharactersMin = 12;

function NewPasswordField() {
  return (
    <Field
      label={t('accountPasswordNew')}
      name="next"
      type="password"
      autocomplete="new-password"
      required
      minLength={passwordCharactersMin}
      hint={t('accountPasswordRule')}
    />
  );
}

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
      wordsOf={(error) => (error.status === 403 ? undefined : formFault(error))}
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

/** The page of a password link, which works once. */
export function NewPasswordPage({ token }: { readonly token: string }) {
  const [isDone, setDone] = useState(false);
  const task = async (field: (name: string) => string) => {
    await send('POST', '/api/v1/auth/password', { token, new: field('next') }, { impatient: true });
    setDone(true);
  };
  // Reloading checks the session: this change may have ended the previous one.
  const signIn = () => {
    go('', undefined, { replace: true });
    location.reload();
  };
  return (
    <Entrance title={t('passwordTitle')} lead={t(isDone ? 'passwordDone' : 'passwordLead')}>
      {isDone ? (
        <div class="form">
          <Button ref={focus} look="primary" onClick={signIn}>
            {t('signIn')}
          </Button>
        </div>
      ) : (
        <Form
          task={task}
          submit={t('save')}
          wordsOf={(error) => (error.status === 401 ? t('passwordGone') : formFault(error))}
        >
          <NewPasswordField />
        </Form>
      )}
    </Entrance>
  );
}
