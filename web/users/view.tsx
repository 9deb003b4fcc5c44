import type { ComponentChildren } from 'preact';
import { who } from '../api/session.ts';
import type { User, Users } from '../api/types.ts';
import { type Column, ListPage, Moment, useDialog } from '../ui/list.tsx';
import { Marked } from '../ui/marked.tsx';
import { useResource } from '../ui/resource.tsx';
import { go, place } from '../ui/router.ts';
import { useHasPasswords } from '../ui/sign-on-options.ts';
import { t } from '../ui/text.ts';
import { DisableUser, LinkMaker, NewUser, UserRole } from './dialogs.tsx';

export default function UsersView() {
  const { resource, reload } = useResource<Users>('/api/v1/portal/users');
  const { dialog, ask, onClose, onDone } = useDialog(reload);
  const sought = place.value.query.get('name') ?? '';
  const users = resource.data.value?.data.filter((user) => matches(user, sought));
  const ownId = who.value?.user.id;
  const hasPasswords = useHasPasswords();
  const onMade = (user: User) => onDone(hasPasswords && <LinkMaker {...{ user, onClose }} isNew />);
  const actions = (user: User) => {
    const way = (words: string, form: ComponentChildren) => ({ words, onChoose: () => ask(form) });
    const ways = { user, onDone, onClose };
    return [
      way(t('usersChangeRole'), <UserRole {...ways} />),
      ...(hasPasswords ? [way(t('usersLink'), <LinkMaker {...{ user, onClose }} />)] : []),
      { ...way(t('usersDisable'), <DisableUser {...ways} />), isDanger: true },
    ];
  };
  return (
    <ListPage
      title={t('users')}
      lead={t('usersLead')}
      make={t('usersNew')}
      onMake={() => ask(<NewUser {...{ onMade, onClose }} />)}
      bar={
        <input
          type="search"
          aria-label={t('usersFind')}
          placeholder={t('usersFind')}
          value={sought}
          onInput={({ currentTarget: { value } }) =>
            go('users', new URLSearchParams(value === '' ? {} : { name: value }), { replace: true })
          }
        />
      }
      resource={resource}
      items={users}
      columns={userColumns(ownId)}
      nameOf={({ name }) => name}
      // Users cannot change their own access here, or the last administrator could lock everybody out.
      actions={(user) => (user.id === ownId || user.disabled_at !== undefined ? [] : actions(user))}
      empty={t('usersNone')}
      dialog={dialog}
    />
  );
}

function matches({ name, email }: User, sought: string): boolean {
  return `${name}\n${email}`.toLowerCase().includes(sought.trim().toLowerCase());
}

function userColumns(ownId: string | undefined): Column<User>[] {
  const nameCell = ({ id, name, email, disabled_at: disabled }: User) => (
    <>
      <Marked text={name} /> {id === ownId && <span class="badge">{t('usersYou')}</span>}
      <p>
        <Marked text={email} />
      </p>
      {disabled !== undefined && (
        <p>
          <span class="badge">{t('usersDisabled')}</span> <Moment at={disabled} />
        </p>
      )}
    </>
  );
  return [
    { title: t('name'), cell: nameCell },
    { title: t('usersRole'), cell: ({ role }) => t(`role_${role}`) },
    { title: t('created'), look: 'roomy-only', cell: ({ created_at: at }) => <Moment at={at} /> },
  ];
}
