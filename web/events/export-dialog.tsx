import { useEffect, useRef, useState } from 'preact/hooks';
import { RequestError, withQuery } from '../api/request.ts';
import { session } from '../api/session.ts';
import { Button, Icon } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { formatBytes, formatNumber } from '../ui/format.ts';
import { Choice, Fault } from '../ui/forms.tsx';
import { Failure } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { Chips } from './chips.tsx';
import type { ExportFormat } from './event-counter.ts';
import type { EventList } from './event-list.ts';
import { canWriteFiles, exportPath, type ExportState, FileExport } from './file-export.ts';
import { model } from './model.ts';
import { rangeWords } from './range-menu.tsx';
import { totalWords } from './words.ts';

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

function ExportDialog({ list, onClose }: ExportDialogProps) {
  const run = useRef(new FileExport()).current;
  useEffect(() => () => run.cancel(), [run]);
  const state = run.state.value;
  const isRunning = state.step === 'running';
  useEffect(() => {
    if (!isRunning) return undefined;
    // The browser asks whether to leave the page, and with it the file.
    const stay = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', stay);
    return () => removeEventListener('beforeunload', stay);
  }, [isRunning]);
  return (
    <Dialog title={t('eventsExportTitle')} onClose={isRunning ? undefined : onClose}>
      <div class="export-panel form">
        {/* Stays, with the format that was chosen, for another try. */}
        <div class="form" hidden={isRunning || state.step === 'done'}>
          <Beginning {...{ list, run, onClose }} />
        </div>
        {state.step === 'running' && <Running {...state} />}
        {state.step === 'done' && <Done {...state} />}
        <div class="actions line">
          {isRunning && <Button onClick={() => run.cancel()}>{t('cancel')}</Button>}
          {state.step === 'done' && (
            <Button look="primary" onClick={onClose}>
              {t('close')}
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

const formats = ['ndjson', 'json', 'csv'] as const;

/** What will be in the file, and in which form. */
function Beginning({ list, run, onClose }: ExportDialogProps & { readonly run: FileExport }) {
  const [format, setFormat] = useState<ExportFormat>('ndjson');
  const state = run.state.value;
  const events = totalWords(list.total);
  return (
    <>
      <strong class="count">{events}</strong>
      <Chips isFixed>
        <li class="chip">
          <span>{rangeWords(model.query.value.range)}</span>
        </li>
      </Chips>
      <Choice
        label={t('eventsExportFormat')}
        value={format}
        options={formats.map((one) => [one, one.toUpperCase()])}
        onChange={setFormat}
      />
      <p class="muted">
        {t(`export_${format}`)} {t('eventsExportWhat')}
      </p>
      {state.step === 'failed' && <Trouble {...state} />}
      {!canWriteFiles() && <p>{t('eventsExportByBrowser', { events })}</p>}
      <div class="actions line">
        <Button onClick={onClose}>{t('cancel')}</Button>
        {canWriteFiles() ? (
          <Button look="primary" onClick={() => void run.start(format, list.parameters, fileName(format))}>
            {t('eventsExport')}
          </Button>
        ) : (
          <a
            class="button primary"
            href={withQuery(exportPath, { ...list.parameters, format, orgId: organizationOf()?.id })}
            // The server gives the name. A link cannot say whose session it means, but an export of another organization is empty.
            download=""
            // Without TLS nothing else tells the service that its own page asks.
            referrerpolicy="same-origin"
          >
            {t('eventsExport')}
          </a>
        )}
      </div>
    </>
  );
}

type StateOf<Step> = ExportState & { readonly step: Step };

function Running({ events, total, bytes }: StateOf<'running'>) {
  const n = formatNumber;
  return (
    <>
      <progress
        aria-label={t('eventsExportTitle')}
        {...(total !== undefined && { value: events, max: Math.max(1, total) })}
      />
      <p>
        {total === undefined
          ? t('eventsExportBegins')
          : t('eventsExportProgress', { n: n(events), total: n(total), size: formatBytes(bytes) })}
      </p>
    </>
  );
}

function Done({ events, name, bytes }: StateOf<'done'>) {
  const values = { events: totalWords(events), name, size: formatBytes(bytes) };
  return (
    <p role="status">
      <strong>{t('eventsExportWhole')}</strong> {t('eventsExportDone', values)}
    </p>
  );
}

function Trouble({ error, events, total = 0 }: StateOf<'failed'>) {
  if (error instanceof RequestError) return <Failure error={error} />;
  // What files refuse is a DOMException; a connection that breaks is a TypeError.
  const words =
    error instanceof DOMException
      ? t('eventsExportUnwritten')
      : t('eventsExportBroken', { n: formatNumber(events), total: formatNumber(total) });
  return <Fault>{words}</Fault>;
}

/** `audit-acme-20240506T070809Z.csv`, as the server calls it. */
function fileName(format: ExportFormat): string {
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  return `audit-${organizationOf()?.slug}-${time}.${format}`;
}

function organizationOf() {
  return session.value.state === 'in' ? session.value.who.organization : undefined;
}
