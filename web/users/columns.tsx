import type { User } from '../api/types.ts';
import { ActionMenu } from '../ui/action-menu.tsx';
import type { Column } from '../ui/list-table.tsx';
import { Marked } from '../ui/marked.tsx';
import { Moment } from '../ui/moment.tsx';
import { roleName } from '../ui/roles.ts';
import { t } from '../ui/text.ts';

export type UserAction = 'role' | 'link' | 'disable';

/**
 * `ownId` is whose session it is: nothing here is done to oneself, or the last way in could be shut from inside. There are
 * links for passwords where people may sign in by these.
 */
export function userColumns(
  ownId: string | undefined,
  hasPasswords: boolean,
  onChoose: (what: UserAction, user: User) => void,
): Column<User>[] {
  return [
    { title: t('name'), cell: (user) => <Name user={user} isOwn={user.id === ownId} /> },
    { title: t('usersRole'), cell: ({ role }) => roleName(role) },
    { title: t('created'), isSecondary: true, cell: (user) => <Moment at={user.created_at} /> },
    {
      title: t('actions'),
      isForButtons: true,
      cell: (user) => (
        <ActionMenu
          name={user.name}
          actions={
            user.id === ownId || user.disabled_at !== undefined
              ? []
              : [
                  { words: t('usersChangeRole'), onChoose: () => onChoose('role', user) },
                  ...(hasPasswords
                    ? [{ words: t('usersLink'), onChoose: () => onChoose('link', user) }]
                    : []),
                  { words: t('usersDisable'), isDanger: true, onChoose: () => onChoose('disable', user) },
                ]
          }
        />
      ),
    },
  ];
}

function Name({ user: { name, email, disabled_at: disabled }, isOwn }: { user: User; isOwn: boolean }) {
  return (
    <>
      <Marked text={name} /> {isOwn && <span class="badge">{t('usersYou')}</span>}
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
}
