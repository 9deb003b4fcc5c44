import { useEffect, useRef, useState } from 'preact/hooks';
import { RequestError, withQuery } from '../api/request.ts';
import { session } from '../api/session.ts';
import { Button } from '../ui/button.tsx';
import { Choice } from '../ui/choice.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/failure.tsx';
import { Fault } from '../ui/fault.tsx';
import { Icon } from '../ui/icon.tsx';
import { formatBytes, formatNumber } from '../ui/number.ts';
import { t } from '../ui/text.ts';
import { Chips } from './chips.tsx';
import type { ExportFormat } from './event-counter.ts';
import type { EventList } from './event-list.ts';
import { canWriteFiles, exportPath, type ExportState, FileExport } from './file-export.ts';
import type { EventsModel } from './model.ts';
import { rangeWords } from './range-menu.tsx';
import { totalWords } from './words.ts';

const hints = { ndjson: 'eventsExportNdjson', json: 'eventsExportJson', csv: 'eventsExportCsv' } as const;

interface ExportButtonProps {
  readonly model: EventsModel;
  /** Undefined while there is nothing to export. */
  readonly list: EventList | undefined;
}

/** All events of the view as a file. */
export function ExportButton({ model, list }: ExportButtonProps) {
  const [exported, setExported] = useState<EventList>();
  const isStale = model.list.isLoading.value;
  return (
    <>
      <Button
        look="export"
        disabled={list === undefined || list.total === 0 || isStale}
        onClick={() => setExported(list)}
      >
        <Icon name="down" />
        <span class="roomy">{t('eventsExport')}</span>
      </Button>
      {/* Going back to another query closes it. */}
      {exported !== undefined && exported === list && (
        <ExportDialog model={model} list={exported} onClose={() => setExported(undefined)} />
      )}
    </>
  );
}

interface ExportDialogProps {
  readonly model: EventsModel;
  readonly list: EventList;
  readonly onClose: () => void;
}

function ExportDialog({ model, list, onClose }: ExportDialogProps) {
  const run = useRef(new FileExport()).current;
  const [format, setFormat] = useState<ExportFormat>('ndjson');
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
      <div class="export-panel">
        {(state.step === 'ready' || state.step === 'failed') && (
          <Form {...{ model, list, run, state, format, setFormat, onClose }} />
        )}
        {isRunning && <Running state={state} onCancel={() => run.cancel()} />}
        {state.step === 'done' && (
          <>
            <p role="status">
              <strong>{t('eventsExportWhole')}</strong>{' '}
              {t('eventsExportDone', {
                events: totalWords(state.events),
                name: state.name,
                size: formatBytes(state.bytes),
              })}
            </p>
            <div class="actions">
              <Button look="primary" onClick={onClose}>
                {t('close')}
              </Button>
            </div>
          </>
        )}
      </div>
    </Dialog>
  );
}

interface FormProps extends ExportDialogProps {
  readonly run: FileExport;
  readonly state: ExportState;
  readonly format: ExportFormat;
  readonly setFormat: (format: ExportFormat) => void;
}

/** What will be in the file, and in which form. */
function Form({ model, list, run, state, format, setFormat, onClose }: FormProps) {
  return (
    <>
      <strong class="count">{totalWords(list.total)}</strong>
      <Chips model={model} isFixed>
        <li class="chip">
          <span>{rangeWords(model.query.value.range)}</span>
        </li>
      </Chips>
      <Choice
        label={t('eventsExportFormat')}
        value={format}
        options={[
          ['ndjson', 'NDJSON'],
          ['json', 'JSON'],
          ['csv', 'CSV'],
        ]}
        onChange={setFormat}
      />
      <p class="muted">
        {t(hints[format])} {t('eventsExportWhat')}
      </p>
      {state.step === 'failed' && <Trouble state={state} />}
      {!canWriteFiles() && <p>{t('eventsExportByBrowser', { events: totalWords(list.total) })}</p>}
      <div class="actions">
        <Button onClick={onClose}>{t('cancel')}</Button>
        {canWriteFiles() ? (
          <Button look="primary" onClick={() => void run.start(format, list.parameters, fileName(format))}>
            {t('eventsExport')}
          </Button>
        ) : (
          <DownloadLink list={list} format={format} />
        )}
      </div>
    </>
  );
}

/** The file by the browser itself, where a script cannot write one. */
function DownloadLink({ list, format }: Pick<FormProps, 'list' | 'format'>) {
  return (
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
  );
}

interface RunningProps {
  readonly state: ExportState & { readonly step: 'running' };
  readonly onCancel: () => void;
}

function Running({ state: { events, total, bytes }, onCancel }: RunningProps) {
  return (
    <>
      <progress
        aria-label={t('eventsExportTitle')}
        {...(total === undefined ? {} : { value: events, max: Math.max(1, total) })}
      />
      <p>
        {total === undefined
          ? t('eventsExportBegins')
          : t('eventsExportProgress', {
              n: formatNumber(events),
              total: formatNumber(total),
              size: formatBytes(bytes),
            })}
      </p>
      <div class="actions">
        <Button onClick={onCancel}>{t('cancel')}</Button>
      </div>
    </>
  );
}

function Trouble({ state }: { readonly state: ExportState & { readonly step: 'failed' } }) {
  const { error, events, total } = state;
  if (error instanceof RequestError) return <Failure error={error} />;
  // What files refuse is a DOMException; a connection that breaks is a TypeError.
  const words =
    error instanceof DOMException
      ? t('eventsExportUnwritten')
      : t('eventsExportBroken', { n: formatNumber(events), total: formatNumber(total ?? 0) });
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
