import { useState } from 'preact/hooks';
import { nextWindow } from '../api/rate-limit.ts';
import { getStream, withQuery } from '../api/request.ts';
import { session } from '../api/session.ts';
import { download } from '../ui/browser.ts';
import { Button, Icon } from '../ui/button.tsx';
import { type Fields, FormDialog, Options } from '../ui/forms.tsx';
import { Marked } from '../ui/marked.tsx';
import { t } from '../ui/text.ts';
import { type EventList, rowsPath } from './event-list.ts';
import { model } from './model.ts';
import { rangeWords } from './range-menu.tsx';
import { filterSentence, totalWords } from './words.ts';

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

/** What will be in the file, and in which form. The browser downloads it, and the server gives its name. */
function ExportDialog({ list, onClose }: ExportDialogProps) {
  const { range, filters } = model.query.value;
  const events = totalWords(list.total);
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
      <strong class="count">{events}</strong>
      <p>
        <Marked text={[rangeWords(range), ...filters.map(filterSentence)].join(' · ')} />
      </p>
      <Options
        label={t('eventsExportFormat')}
        name="format"
        type="radio"
        options={formats.map((one) => [one, one.toUpperCase(), t(`export_${one}`)])}
        chosen="ndjson"
      />
      <p class="muted">
        {t('eventsExportWhat')} {t('eventsExportByBrowser', { events })}
      </p>
    </FormDialog>
  );
}
