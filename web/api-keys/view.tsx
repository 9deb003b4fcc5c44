import type { ApiKey, ApiKeys, IssuedApiKey } from '../api/types.ts';
import { formatNumber } from '../ui/format.ts';
import { Choice } from '../ui/forms.tsx';
import { ListPage, useDialog } from '../ui/list.tsx';
import { useResource } from '../ui/resource.tsx';
import { go, place } from '../ui/router.ts';
import { t } from '../ui/text.ts';
import { keyColumns, nameOf } from './columns.tsx';
import { IssuedKey, NewKey, RevokeKey, RotateKey } from './dialogs.tsx';

/** Credentials of programs: all of them, and making, rotating and ending one. */
export default function ApiKeysView() {
  const { resource, reload } = useResource<ApiKeys>('/api/v1/portal/api-keys');
  const { dialog, ask, onClose, onDone } = useDialog(reload);
  const keys = resource.data.value?.data;
  // Newest first: what somebody has just made is at the top.
  const used = keys?.filter(({ state }) => state === 'active').toReversed();
  const ended = keys?.filter(({ state }) => state !== 'active').toReversed();
  const showsEnded = place.value.query.get('show') === 'ended';
  const counted = (words: string, list: readonly ApiKey[] | undefined) =>
    list === undefined ? words : `${words} (${formatNumber(list.length)})`;
  const onIssued = (issued: IssuedApiKey) => onDone(<IssuedKey {...{ issued, onClose }} />);
  const actions = (apiKey: ApiKey) => [
    { words: t('apiKeysRotate'), onChoose: () => ask(<RotateKey {...{ apiKey, onIssued, onClose }} />) },
    {
      words: t('apiKeysRevoke'),
      isDanger: true,
      onChoose: () => ask(<RevokeKey {...{ apiKey, onDone, onClose }} />),
    },
  ];
  return (
    <ListPage
      title={t('apiKeys')}
      lead={t('apiKeysLead')}
      make={t('apiKeysNew')}
      onMake={() => ask(<NewKey {...{ onIssued, onClose }} />)}
      bar={
        <Choice
          label={t('apiKeysShow')}
          value={showsEnded ? 'ended' : 'used'}
          options={[
            ['used', counted(t('apiKeysUsed'), used)],
            ['ended', counted(t('apiKeysEnded'), ended)],
          ]}
          onChange={(show) => go('api-keys', new URLSearchParams(show === 'ended' ? { show } : {}))}
        />
      }
      resource={resource}
      items={showsEnded ? ended : used}
      columns={keyColumns()}
      nameOf={nameOf}
      actions={(key) => (key.state === 'active' ? actions(key) : [])}
      empty={t(showsEnded ? 'apiKeysNoneEnded' : 'apiKeysNone')}
      dialog={dialog}
    />
  );
}
