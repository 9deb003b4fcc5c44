import { useState } from 'preact/hooks';
import { send } from '../api/request.ts';
import type { PasswordLink as Link, User } from '../api/types.ts';
import { Dialog } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Moment } from '../ui/moment.tsx';
import { Secret } from '../ui/secret.tsx';
import { t } from '../ui/text.ts';

interface PasswordLinkProps {
  readonly user: User;
  /** Somebody who has just been made, and has no password yet. */
  readonly isNew: boolean;
  readonly onClose: () => void;
}

/** A link by which somebody chooses a password, once; whoever asked for it hands it on. */
export function PasswordLink({ user, isNew, onClose }: PasswordLinkProps) {
  const [link, setLink] = useState<Link>();
  if (link !== undefined) return <LinkShown user={user} link={link} onClose={onClose} />;
  return (
    <FormDialog
      title={t(isNew ? 'usersMadeTitle' : 'usersLinkTitle', { name: user.name })}
      submit={t('usersLinkMake')}
      onClose={onClose}
      task={async () => {
        setLink(await send<Link>('POST', `/api/v1/portal/users/${user.id}/password-link`));
      }}
    >
      <p class="muted">{t(isNew ? 'usersMadeLead' : 'usersLinkLead')}</p>
    </FormDialog>
  );
}

function LinkShown({ user, link, onClose }: Omit<PasswordLinkProps, 'isNew'> & { readonly link: Link }) {
  return (
    <Dialog title={t('usersLinkTitle', { name: user.name })}>
      <div class="form">
        <p class="muted">
          {t('usersLinkShown', { email: user.email })} <Moment at={link.expires_at} />.
        </p>
        <Secret label={t('usersLinkLabel')} text={`${location.origin}/#/password?token=${link.token}`} />
        <div class="actions">
          <button type="button" class="button primary" onClick={onClose}>
            {t('done')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
