import { useState } from 'preact/hooks';
import { session } from '../api/session.ts';
import type { User, Users } from '../api/types.ts';
import { Icon } from '../ui/icon.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { go, place } from '../ui/router.ts';
import { useHasPasswords } from '../ui/sign-on-options.ts';
import { t } from '../ui/text.ts';
import { useResource } from '../ui/use-resource.ts';
import { type UserAction, userColumns } from './columns.tsx';
import { DisableUser } from './disable-user.tsx';
import { NewUser } from './new-user.tsx';
import { PasswordLink } from './password-link.tsx';
import { UserRole } from './user-role.tsx';

type Open = { readonly what: 'new' } | { readonly what: UserAction | 'welcome'; readonly user: User };

/** People of the organization: all of them, and making one, another role, a link for a password, the end of access. */
export default function UsersView() {
  const { resource, reload } = useResource<Users>('/api/v1/portal/users');
  const [open, setOpen] = useState<Open>();
  const sought = place.value.query.get('name') ?? '';
  const users = resource.data.value?.data.filter((user) => matches(user, sought));
  const ownId = session.value.state === 'in' ? session.value.who.user.id : undefined;
  const hasPasswords = useHasPasswords();
  const close = () => setOpen(undefined);
  return (
    <div class="page">
      <div class="page-head">
        <div>
          <h1>{t('users')}</h1>
          <p>{t('usersLead')}</p>
        </div>
        <button type="button" class="button primary" onClick={() => setOpen({ what: 'new' })}>
          <Icon name="plus" />
          {t('usersNew')}
        </button>
      </div>
      <div class="list-bar">
        <input
          type="search"
          aria-label={t('usersFind')}
          placeholder={t('usersFind')}
          value={sought}
          onInput={({ currentTarget: { value } }) =>
            go('users', new URLSearchParams(value === '' ? {} : { name: value }), { replace: true })
          }
        />
      </div>
      <ListTable
        label={t('users')}
        resource={resource}
        items={users}
        columns={userColumns(ownId, hasPasswords, (what, user) => setOpen({ what, user }))}
        empty={<p>{t('usersNone')}</p>}
      />
      {open !== undefined && (
        <UserDialog
          open={open}
          onMade={(user) => {
            setOpen(hasPasswords ? { what: 'welcome', user } : undefined);
            reload();
          }}
          onDone={() => {
            close();
            reload();
          }}
          onClose={close}
        />
      )}
    </div>
  );
}

interface UserDialogProps {
  readonly open: Open;
  readonly onMade: (user: User) => void;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function UserDialog({ open, onMade, onDone, onClose }: UserDialogProps) {
  switch (open.what) {
    case 'new':
      return <NewUser onMade={onMade} onClose={onClose} />;
    case 'role':
      return <UserRole user={open.user} onDone={onDone} onClose={onClose} />;
    case 'disable':
      return <DisableUser user={open.user} onDone={onDone} onClose={onClose} />;
    case 'link':
    case 'welcome':
      return <PasswordLink user={open.user} isNew={open.what === 'welcome'} onClose={onClose} />;
    default:
      return open satisfies never;
  }
}

function matches({ name, email }: User, sought: string): boolean {
  const text = `${name}\n${email}`.toLowerCase();
  return text.includes(sought.trim().toLowerCase());
}
