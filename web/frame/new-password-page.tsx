import { useState } from 'preact/hooks';
import { send } from '../api/request.ts';
import { Button } from '../ui/button.tsx';
import { Fault } from '../ui/fault.tsx';
import { wordsOf } from '../ui/form-dialog.tsx';
import { go } from '../ui/router.ts';
import { useSubmission } from '../ui/submission.ts';
import { t } from '../ui/text.ts';
import { NewPasswordField } from './new-password-field.tsx';

/** Where the link of an administrator leads: a password of one's own, once. */
export function NewPasswordPage({ token }: { readonly token: string }) {
  const [isDone, setDone] = useState(false);
  const { error, isBusy, onSubmit } = useSubmission(async (field) => {
    await send('POST', '/api/v1/auth/password', { token, new: field('next') }, { impatient: true });
    setDone(true);
  });
  document.title = t('product');
  // A load of the page, which finds out whose session there is: the one before may have ended by this.
  const signIn = () => {
    go('', undefined, { replace: true });
    location.reload();
  };
  return (
    <main class="sign-in">
      <div>
        <span class="mark large" aria-hidden="true" />
        <h1>{t('passwordTitle')}</h1>
        <p class="muted" role="status">
          {t(isDone ? 'passwordDone' : 'passwordLead')}
        </p>
        <form class="form" onSubmit={onSubmit} hidden={isDone}>
          <NewPasswordField />
          <Fault>{error && (error.status === 401 ? t('passwordGone') : wordsOf(error))}</Fault>
          <Button type="submit" look="primary" disabled={isBusy}>
            {t('save')}
          </Button>
        </form>
        {isDone && (
          <div class="form">
            <Button look="primary" onClick={signIn}>
              {t('signIn')}
            </Button>
          </div>
        )}
      </div>
    </main>
  );
}
