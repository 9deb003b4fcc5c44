import { useState } from 'preact/hooks';
import { nextWindow } from '../api/rate-limit.ts';
import { serverNow } from '../api/instant.ts';
import { get, getStream, withQuery } from '../api/request.ts';
import { session } from '../api/session.ts';
import type { Rows } from '../api/types.ts';
import { download } from '../ui/browser.ts';
import { Button, Icon } from '../ui/button.tsx';
import { type Fields, FormDialog, Options } from '../ui/forms.tsx';
import { formatLately, formatSecond } from '../ui/format.ts';
import { Marked } from '../ui/marked.tsx';
import { useResource } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { type EventList, rowsPath } from './event-list.ts';
import { model } from './model.ts';
import { querySentence, totalWords } from './words.ts';

const formats = ['ndjson', 'json', 'csv'] as const;

/** Exports all events of the view; `list` is undefined if there is nothing to export. */
export function ExportButton({ list }: { readonly list: EventList | undefined }) {
  const [exported, setExported] = useState<EventList>();
  const isReady = list !== undefined && list.total > 0 && !model.list.isLoading.value;
  return (
    <>
      <Button look="export" disabled={!isReady} onClick={() => setExported(list)}>
        <Icon name="down" />
        <span class="roomy">{t('eventsExport')}</span>
      </Button>
      {/* Going back to another query closes it. */}
      {exported !== undefined && exported === list && (
        <ExportDialog list={exported} onClose={() => setExported(undefined)} />
      )}
    </>
  );
}

interface ExportDialogProps {
  readonly list: EventList;
  readonly onClose: () => void;
}

/** The current number of events, and when it was counted. */
function useCount(list: EventList): { readonly total: number; readonly atMs: number } {
  const { resource } = useResource(
    async (signal) => {
      const atMs = serverNow();
      const { meta } = await get<Rows>(rowsPath, { ...list.parameters, limit: 1 }, { signal });
      return meta.searched_back_to === undefined ? { total: meta.total, atMs } : undefined;
    },
    [list],
  );
  return resource.data.value ?? { total: list.total, atMs: model.askedAtMs.value };
}

/** Chooses the format. The browser downloads the file, and the server names it. */
function ExportDialog({ list, onClose }: ExportDialogProps) {
  const { total, atMs } = useCount(list);
  const task = async (field: Fields) => {
    // A refused download only fails, without a reason. So a request first waits for the limit or a new
    // session, or shows the failure; if it used up the window, the download waits for the next.
    await nextWindow(await getStream(rowsPath, { ...list.parameters, limit: 1 }));
    // A download cannot name its session, but an export of another organization would be empty.
    const orgId = session.value.state === 'in' ? session.value.who.organization.id : undefined;
    download(withQuery('/api/v1/portal/export', { ...list.parameters, format: field('format'), orgId }));
    onClose();
  };
  return (
    <FormDialog title={t('eventsExportTitle')} submit={t('eventsExport')} task={task} onClose={onClose}>
      <p>
        <strong class="count">{totalWords(total)}</strong>{' '}
        <span class="muted">{t('eventsAsOf', { time: formatLately(atMs * 1000, formatSecond) })}</span>
      </p>
      <p>
        <Marked text={querySentence(list)} />
      </p>
      <Options
        label={t('eventsExportFormat')}
        name="format"
        type="radio"
        options={formats.map((one) => [one, one.toUpperCase(), t(`export_${one}`)])}
        chosen="ndjson"
      />
      <p class="muted">
        {t('eventsExportWhat')} {t('eventsExportByBrowser')}
      </p>
    </FormDialog>
  );
}
