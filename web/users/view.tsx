import { useState } from 'preact/hooks';
import { session } from '../api/session.ts';
import type { User, Users } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Page } from '../ui/page.tsx';
import { go, place } from '../ui/router.ts';
import { useHasPasswords } from '../ui/sign-on-options.ts';
import { t } from '../ui/text.ts';
import { useResource } from '../ui/use-resource.ts';
import { userColumns } from './columns.tsx';
import { type Open, UserDialog } from './dialogs.tsx';

/** People of the organization: all of them, and making one, another role, a link for a password, the end of access. */
export default function UsersView() {
  const { resource, reload } = useResource<Users>('/api/v1/portal/users');
  const [open, setOpen] = useState<Open>();
  const sought = place.value.query.get('name') ?? '';
  const users = resource.data.value?.data.filter((user) => matches(user, sought));
  const ownId = session.value.state === 'in' ? session.value.who.user.id : undefined;
  const hasPasswords = useHasPasswords();
  const next = (then?: Open) => {
    setOpen(then);
    reload();
  };
  const button = (
    <Button look="primary" onClick={() => setOpen({ what: 'new' })}>
      <Icon name="plus" />
      {t('usersNew')}
    </Button>
  );
  return (
    <Page title={t('users')} lead={t('usersLead')} end={button}>
      <div class="list-bar line">
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
        empty={t('usersNone')}
      />
      {open !== undefined && (
        <UserDialog
          open={open}
          onMade={(user) => next(hasPasswords ? { what: 'welcome', user } : undefined)}
          onDone={next}
          onClose={() => setOpen(undefined)}
        />
      )}
    </Page>
  );
}

function matches({ name, email }: User, sought: string): boolean {
  return `${name}\n${email}`.toLowerCase().includes(sought.trim().toLowerCase());
}
