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

/** All events of the view as a file; `list` is undefined while there is nothing to export. */
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

/** How many there are by now, and when that was: some may have come since the list began. */
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

/** What will be in the file, and in which form. The browser downloads it, and the server gives its name. */
function ExportDialog({ list, onClose }: ExportDialogProps) {
  const { total, atMs } = useCount(list);
  const task = async (field: Fields) => {
    // A download that is refused only fails. A request first waits for the limit or a new session, or says what is the matter;
    // where it was the last one of its window, the download waits for the next.
    await nextWindow(await getStream(rowsPath, { ...list.parameters, limit: 1 }));
    // No download can say whose session it means, but an export of another organization is empty.
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
