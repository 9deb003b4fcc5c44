import type { RequestError } from '../api/request.ts';
import { changePassword } from '../api/session.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { useSubmission } from '../ui/submission.ts';
import { announcement, t } from '../ui/text.ts';

interface PasswordDialogProps {
  readonly email: string;
  readonly onClose: () => void;
}

/** Another password of one's own. The page stays as it is. */
export function PasswordDialog({ email, onClose }: PasswordDialogProps) {
  const { error, isBusy, onSubmit } = useSubmission(async (field) => {
    await changePassword(field('current'), field('next'));
    announcement.value = t('accountPasswordDone');
    onClose();
  });
  const isWrong = error?.status === 403;
  return (
    <Dialog title={t('accountPassword')} onClose={onClose}>
      <form class="form" onSubmit={onSubmit}>
        <input type="email" name="email" value={email} autocomplete="username" readOnly hidden />
        <Field
          label={t('accountPasswordCurrent')}
          name="current"
          type="password"
          autocomplete="current-password"
          required
          fault={isWrong ? t('accountPasswordWrong') : undefined}
        />
        <Field
          label={t('accountPasswordNew')}
          name="next"
          type="password"
          autocomplete="new-password"
          required
          minLength={12}
          hint={t('accountPasswordRule')}
        />
        {error !== undefined && !isWrong && (
          <p class="fault" role="alert">
            {wordsOf(error)}
          </p>
        )}
        <div class="actions">
          <button type="button" class="button" onClick={onClose}>
            {t('cancel')}
          </button>
          <button type="submit" class="button primary" disabled={isBusy}>
            {t('save')}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function wordsOf(error: RequestError): string {
  if (error.kind === 'offline') return t('frameOffline');
  if (error.status === 429) return t('signInTooOften', { seconds: error.retryAfterSeconds ?? 60 });
  return t('frameRefused', { detail: error.message });
}
