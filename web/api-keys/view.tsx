import './view.css';
import { useState } from 'preact/hooks';
import type { ApiKey, ApiKeys } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { Choice } from '../ui/choice.tsx';
import { Icon } from '../ui/icon.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { formatNumber } from '../ui/number.ts';
import { Page } from '../ui/page.tsx';
import { go, place } from '../ui/router.ts';
import { t } from '../ui/text.ts';
import { useResource } from '../ui/use-resource.ts';
import { keyColumns } from './columns.tsx';
import { KeyDialog, type Open } from './dialogs.tsx';

/** Credentials of programs: all of them, and making, rotating and ending one. */
export default function ApiKeysView() {
  const { resource, reload } = useResource<ApiKeys>('/api/v1/portal/api-keys');
  const [open, setOpen] = useState<Open>();
  const keys = resource.data.value?.data;
  // Newest first: what somebody has just made is at the top.
  const used = keys?.filter(({ state }) => state === 'active').toReversed();
  const ended = keys?.filter(({ state }) => state !== 'active').toReversed();
  const showsEnded = place.value.query.get('show') === 'ended';
  const counted = (words: string, list: readonly ApiKey[] | undefined) =>
    list === undefined ? words : `${words} (${formatNumber(list.length)})`;
  const next = (then?: Open) => {
    setOpen(then);
    reload();
  };
  const button = (
    <Button look="primary" onClick={() => setOpen({ what: 'new' })}>
      <Icon name="plus" />
      {t('apiKeysNew')}
    </Button>
  );
  return (
    <Page title={t('apiKeys')} lead={t('apiKeysLead')} end={button}>
      <div class="list-bar keys-bar line">
        <Choice
          label={t('apiKeysShow')}
          value={showsEnded ? 'ended' : 'used'}
          options={[
            ['used', counted(t('apiKeysUsed'), used)],
            ['ended', counted(t('apiKeysEnded'), ended)],
          ]}
          onChange={(show) => go('api-keys', new URLSearchParams(show === 'ended' ? { show } : {}))}
        />
      </div>
      <ListTable
        label={t('apiKeys')}
        resource={resource}
        items={showsEnded ? ended : used}
        columns={keyColumns((what, key) => setOpen({ what, key }))}
        empty={t(showsEnded ? 'apiKeysNoneEnded' : 'apiKeysNone')}
      />
      {open !== undefined && (
        <KeyDialog
          open={open}
          onIssued={(key) => next({ what: 'issued', key })}
          onClose={() => setOpen(undefined)}
          onRevoked={next}
        />
      )}
    </Page>
  );
}
