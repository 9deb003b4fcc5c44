import './view.css';
import { useState } from 'preact/hooks';
import type { ApiKey, ApiKeys, IssuedApiKey } from '../api/types.ts';
import { Choice } from '../ui/choice.tsx';
import { Icon } from '../ui/icon.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { formatNumber } from '../ui/number.ts';
import { go, place } from '../ui/router.ts';
import { t } from '../ui/text.ts';
import { useResource } from '../ui/use-resource.ts';
import { keyColumns } from './columns.tsx';
import { IssuedKey } from './issued-key.tsx';
import { NewKey } from './new-key.tsx';
import { RevokeKey } from './revoke-key.tsx';
import { RotateKey } from './rotate-key.tsx';

type Open =
  | { readonly what: 'new' }
  | { readonly what: 'rotate' | 'revoke'; readonly key: ApiKey }
  | { readonly what: 'issued'; readonly key: IssuedApiKey };

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
  return (
    <div class="page">
      <div class="page-head">
        <div>
          <h1>{t('apiKeys')}</h1>
          <p>{t('apiKeysLead')}</p>
        </div>
        <button type="button" class="button primary" onClick={() => setOpen({ what: 'new' })}>
          <Icon name="plus" />
          {t('apiKeysNew')}
        </button>
      </div>
      <div class="list-bar keys-bar">
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
        empty={<p>{t(showsEnded ? 'apiKeysNoneEnded' : 'apiKeysNone')}</p>}
      />
      {open !== undefined && (
        <KeyDialog
          open={open}
          onIssued={(key) => {
            setOpen({ what: 'issued', key });
            reload();
          }}
          onClose={() => setOpen(undefined)}
          onRevoked={() => {
            setOpen(undefined);
            reload();
          }}
        />
      )}
    </div>
  );
}

interface KeyDialogProps {
  readonly open: Open;
  readonly onIssued: (key: IssuedApiKey) => void;
  readonly onRevoked: () => void;
  readonly onClose: () => void;
}

function KeyDialog({ open, onIssued, onRevoked, onClose }: KeyDialogProps) {
  switch (open.what) {
    case 'new':
      return <NewKey onIssued={onIssued} onClose={onClose} />;
    case 'rotate':
      return <RotateKey apiKey={open.key} onIssued={onIssued} onClose={onClose} />;
    case 'revoke':
      return <RevokeKey apiKey={open.key} onRevoked={onRevoked} onClose={onClose} />;
    case 'issued':
      return <IssuedKey issued={open.key} onClose={onClose} />;
    default:
      return open satisfies never;
  }
}
