import { useState } from 'preact/hooks';
import { send } from '../api/request.ts';
import type { PasswordLink, Role, User } from '../api/types.ts';
import { Field, type Fields, FormDialog, formFault, NameField, Options } from '../ui/forms.tsx';
import { Moment } from '../ui/list.tsx';
import { Secret } from '../ui/secret.tsx';
import { announcement, t } from '../ui/text.ts';

const path = '/api/v1/portal/users';

interface NewUserProps {
  readonly onMade: (user: User) => void;
  readonly onClose: () => void;
}

/** Creates a user without a password; a link then lets that person choose one, if passwords are allowed. */
export function NewUser({ onMade, onClose }: NewUserProps) {
  return (
    <FormDialog
      title={t('usersNew')}
      submit={t('usersMake')}
      onClose={onClose}
      wordsOf={(error) => (error.status === 409 ? undefined : formFault(error))}
      task={async (field) => {
        const body = { name: field('name').trim(), email: field('email').trim(), role: field('role') };
        onMade(await send<User>('POST', path, body));
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

/** From least to most access. */
const roles = ['member', 'auditor', 'admin'] as const;

function RoleField({ value }: { readonly value: Role }) {
  return (
    <Options
      label={t('usersRole')}
      name="role"
      type="radio"
      options={roles.map((role) => [role, t(`role_${role}`), t(`role_${role}_may`)])}
      chosen={value}
    />
  );
}

interface OfUser {
  readonly user: User;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** A new role applies at once, in open sessions as well. */
export function UserRole({ user, onDone, onClose }: OfUser) {
  const task = async (field: Fields) => {
    await send<User>('PATCH', `${path}/${user.id}`, { role: field('role') });
    onDone();
  };
  const title = t('usersRoleTitle', { name: user.name });
  return (
    <FormDialog title={title} submit={t('save')} onClose={onClose} task={task}>
      <RoleField value={user.role} />
    </FormDialog>
  );
}

export function DisableUser({ user, onDone, onClose }: OfUser) {
  const task = async () => {
    await send('POST', `${path}/${user.id}/disable`);
    announcement.value = t('usersDisabledNow', { name: user.name });
    onDone();
  };
  const title = t('usersDisableTitle', { name: user.name });
  return (
    <FormDialog title={title} submit={t('usersDisable')} look="danger" onClose={onClose} task={task}>
      <p>{user.email}</p>
      <p class="muted">{t('usersDisableLead')}</p>
    </FormDialog>
  );
}

interface LinkMakerProps {
  readonly user: User;
  readonly isNew?: boolean;
  readonly onClose: () => void;
}

/** A one-time link for choosing a password; an administrator passes it on. */
export function LinkMaker({ user, isNew = false, onClose }: LinkMakerProps) {
  const [link, setLink] = useState<PasswordLink>();
  const { name, email } = user;
  if (link === undefined)
    return (
      <FormDialog
        title={t(isNew ? 'usersMadeTitle' : 'usersLinkTitle', { name })}
        submit={t('usersLinkMake')}
        onClose={onClose}
        task={async () => setLink(await send<PasswordLink>('POST', `${path}/${user.id}/password-link`))}
      >
        <p class="muted">{t(isNew ? 'usersMadeLead' : 'usersLinkLead')}</p>
      </FormDialog>
    );
  return (
    <FormDialog
      key="link"
      title={t('usersLinkTitle', { name })}
      submit={t('done')}
      task={async () => onClose()}
    >
      <p class="muted">
        {t('usersLinkShown', { email })} <Moment at={link.expires_at} />.
      </p>
      <Secret label={t('usersLinkLabel')} text={`${location.origin}/#/password?token=${link.token}`} />
    </FormDialog>
  );
}
