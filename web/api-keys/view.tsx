import type { ApiKey, ApiKeys, IssuedApiKey } from '../api/types.ts';
import { ListPage, useDialog } from '../ui/list.tsx';
import { useResource } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { keyColumns, nameOf } from './columns.tsx';
import { IssuedKey, NewKey, RevokeKey, RotateKey } from './dialogs.tsx';

export default function ApiKeysView() {
  const { resource, reload } = useResource<ApiKeys>('/api/v1/portal/api-keys');
  const { dialog, ask, onClose, onDone } = useDialog(reload);
  // Newest first; keys that no longer work last.
  const keys = resource.data.value?.data.toReversed();
  const items = keys?.toSorted((a, b) => Number(hasEnded(a)) - Number(hasEnded(b)));
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
      resource={resource}
      items={items}
      columns={keyColumns()}
      nameOf={nameOf}
      actions={(key) => (hasEnded(key) ? [] : actions(key))}
      empty={t('apiKeysNone')}
      dialog={dialog}
    />
  );
}

const hasEnded = ({ state }: ApiKey): boolean => state !== 'active';
