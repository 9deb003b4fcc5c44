import { useState } from 'preact/hooks';
import { send } from '../api/request.ts';
import type { PasswordLink, Role, User } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { Moment } from '../ui/moment.tsx';
import { NameField } from '../ui/name-field.tsx';
import { Options } from '../ui/options.tsx';
import { roleMay, roleName, roles } from '../ui/roles.ts';
import { Secret } from '../ui/secret.tsx';
import type { Fields } from '../ui/submission.ts';
import { announcement, t } from '../ui/text.ts';
import type { UserAction } from './columns.tsx';

/** What is asked, and of whom; `welcome` is the link for somebody who has just been made, and has no password yet. */
export type Open = { readonly what: 'new' } | { readonly what: UserAction | 'welcome'; readonly user: User };

interface Ways {
  readonly onMade: (user: User) => void;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function UserDialog({ open, ...ways }: Ways & { readonly open: Open }) {
  switch (open.what) {
    case 'new':
      return <NewUser {...ways} />;
    case 'role':
      return <UserRole user={open.user} {...ways} />;
    case 'disable':
      return <DisableUser user={open.user} {...ways} />;
    case 'link':
    case 'welcome':
      return <LinkMaker user={open.user} isNew={open.what === 'welcome'} {...ways} />;
    default:
      return open satisfies never;
  }
}

/** Makes a user without a password: a link that comes next lets that person choose one, where there are passwords. */
function NewUser({ onMade, onClose }: Ways) {
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

/** With what each role may do. */
function RoleField({ value }: { readonly value: Role }) {
  return (
    <Options
      label={t('usersRole')}
      name="role"
      type="radio"
      options={roles.map((role) => ({ value: role, words: roleName(role), note: roleMay(role) }))}
      isChosen={(role) => role === value}
    />
  );
}

type OfUser = Ways & { readonly user: User };

/** Another role: it holds at once, in open sessions as well. */
function UserRole({ user, onDone, onClose }: OfUser) {
  const task = async (field: Fields) => {
    await send<User>('PATCH', `/api/v1/portal/users/${user.id}`, { role: field('role') });
    onDone();
  };
  const title = t('usersRoleTitle', { name: user.name });
  return (
    <FormDialog title={title} submit={t('save')} onClose={onClose} task={task}>
      <RoleField value={user.role} />
    </FormDialog>
  );
}

/** The end of somebody's access, sessions included. */
function DisableUser({ user, onDone, onClose }: OfUser) {
  const task = async () => {
    await send('POST', `/api/v1/portal/users/${user.id}/disable`);
    announcement.value = t('usersDisabledNow', { name: user.name });
    onDone();
  };
  const title = t('usersDisableTitle', { name: user.name });
  return (
    <FormDialog title={title} submit={t('usersDisable')} isDanger onClose={onClose} task={task}>
      <p>{user.email}</p>
      <p class="muted">{t('usersDisableLead')}</p>
    </FormDialog>
  );
}

/** A link by which somebody chooses a password, once; whoever asked for it hands it on. */
function LinkMaker({ user, isNew, onClose }: OfUser & { readonly isNew: boolean }) {
  const [link, setLink] = useState<PasswordLink>();
  const title = t(isNew && link === undefined ? 'usersMadeTitle' : 'usersLinkTitle', { name: user.name });
  const task = async () => {
    setLink(await send<PasswordLink>('POST', `/api/v1/portal/users/${user.id}/password-link`));
  };
  if (link === undefined)
    return (
      <FormDialog title={title} submit={t('usersLinkMake')} onClose={onClose} task={task}>
        <p class="muted">{t(isNew ? 'usersMadeLead' : 'usersLinkLead')}</p>
      </FormDialog>
    );
  return (
    <Dialog title={title}>
      <div class="form">
        <p class="muted">
          {t('usersLinkShown', { email: user.email })} <Moment at={link.expires_at} />.
        </p>
        <Secret label={t('usersLinkLabel')} text={`${location.origin}/#/password?token=${link.token}`} />
        <div class="actions">
          <Button look="primary" onClick={onClose}>
            {t('done')}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
