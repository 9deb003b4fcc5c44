import type { IssuedApiKey } from '../api/types.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Secret } from '../ui/secret.tsx';
import { t } from '../ui/text.ts';
import { nameOf } from './columns.tsx';

interface IssuedKeyProps {
  readonly issued: IssuedApiKey;
  readonly onClose: () => void;
}

/** A key at the only moment when its text is known: only its button closes this. */
export function IssuedKey({ issued, onClose }: IssuedKeyProps) {
  const { key, scopes } = issued;
  return (
    <Dialog title={nameOf(issued)}>
      <div class="form issued-key">
        <p class="once">{t('apiKeysOnce')}</p>
        <Secret label={t('apiKeysKey')} text={key} />
        {scopes.includes('read') && <Secret label={t('apiKeysCurlRead')} text={readLine(key)} />}
        {scopes.includes('write') && <Secret label={t('apiKeysCurlWrite')} text={writeLine(key)} />}
        <div class="actions">
          <button type="button" class="button primary" onClick={onClose}>
            {t('apiKeysStored')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/** A line for a terminal that reads the newest events. */
function readLine(key: string): string {
  return `curl -H 'X-API-Key: ${key}' '${location.origin}/api/v1/audit?limit=5'`;
}

/** A line for a terminal that records an event of now. */
function writeLine(key: string): string {
  const event = {
    message: { timestamp: new Date().toISOString(), action: 1001, actor: 'zoe@example.com' },
  };
  return `curl -H 'X-API-Key: ${key}' -H 'Content-Type: application/json' -d '${JSON.stringify(event)}' ${location.origin}/api/v1/audit`;
}
