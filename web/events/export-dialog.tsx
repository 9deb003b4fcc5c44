import { useEffect, useRef, useState } from 'preact/hooks';
import { nextWindow, sleep } from '../api/rate-limit.ts';
import { serverNow } from '../api/instant.ts';
import {
  connected,
  get,
  getStream,
  isAborted,
  type Parameters,
  RequestError,
  withQuery,
} from '../api/request.ts';
import { who } from '../api/session.ts';
import type { Rows } from '../api/types.ts';
import { download } from '../ui/browser.ts';
import { type Fields, FormDialog, Options } from '../ui/forms.tsx';
import { formatLately, formatSecond } from '../ui/format.ts';
import { Marked } from '../ui/marked.tsx';
import { Countdown, useResource } from '../ui/resource.tsx';
import { t } from '../ui/text.ts';
import { type EventList, rowsPath } from './event-list.ts';
import { limits } from './limits.ts';
import { model } from './model.ts';
import { querySentence, totalWords } from './words.ts';

const formats = ['ndjson', 'json', 'csv'] as const;

export interface ExportDialogProps {
  readonly list: EventList;
  readonly onClose: () => void;
}

/** What is taken away, with its number as of now. */
function useContents(list: EventList) {
  const { resource } = useResource(
    async (signal) => {
      const atMs = serverNow();
      const { meta } = await get<Rows>(rowsPath, { ...list.parameters, limit: 1 }, { signal });
      return meta.searched_back_to === undefined ? { total: meta.total, atMs } : undefined;
    },
    [list],
  );
  const { total, atMs } = resource.data.value ?? { total: list.total, atMs: model.askedAtMs.value };
  const contents = (
    <>
      <p>
        <strong class="count">{totalWords(total)}</strong>{' '}
        <span class="muted">{t('eventsAsOf', { time: formatLately(atMs * 1000, formatSecond) })}</span>
      </p>
      <p>
        <Marked text={querySentence(list)} />
      </p>
    </>
  );
  return { total, contents };
}

/** Chooses the format. The browser downloads the file, and the server names it. */
export function ExportDialog({ list, onClose }: ExportDialogProps) {
  const { contents } = useContents(list);
  const task = async (field: Fields) => {
    // A refused download only fails, without a reason. So a request first waits for the limit or a new
    // session, or shows the failure; if it used up the window, the download waits for the next.
    await nextWindow(await getStream(rowsPath, { ...list.parameters, limit: 1 }));
    // A download cannot name its session, but an export of another organization would be empty.
    const orgId = who.value?.organization.id;
    download(withQuery('/api/v1/portal/export', { ...list.parameters, format: field('format'), orgId }));
    onClose();
  };
  return (
    <FormDialog title={t('eventsExportTitle')} submit={t('eventsExport')} task={task} onClose={onClose}>
      {contents}
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

/** Waits until a checkpoint covers all events. The service makes the file, and names it. */
export function CaseDialog({ list, onClose }: ExportDialogProps) {
  const { total, contents } = useContents(list);
  const [nextTryMs, setNextTry] = useState<number>();
  const closed = useRef(new AbortController()).current;
  useEffect(() => () => closed.abort(), []);
  const task = async () => {
    try {
      await saveCase(list.parameters, setNextTry, closed.signal);
      onClose();
    } catch (error) {
      if (!isAborted(error)) throw error;
    } finally {
      setNextTry(undefined);
    }
  };
  const isTooMany = total > limits.caseEvents;
  return (
    <FormDialog
      title={t('eventsCaseTitle')}
      submit={t('eventsCaseMake')}
      isReady={!isTooMany}
      task={task}
      onClose={onClose}
    >
      {contents}
      {isTooMany && <p class="fault">{t('eventsCaseMost', { n: limits.caseEvents })}</p>}
      <p class="muted">{t('eventsCaseWhat')}</p>
      <p role="status">{nextTryMs !== undefined && <Countdown text="eventsCaseWaits" until={nextTryMs} />}</p>
    </FormDialog>
  );
}

const casePath = '/api/v1/portal/evidence/case';

async function saveCase(
  parameters: Parameters,
  onWait: (untilMs: number) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      const response = await getStream(casePath, parameters, { signal });
      const [, name] = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? [];
      const address = URL.createObjectURL(await connected(response.blob(), signal));
      download(address, name);
      setTimeout(() => URL.revokeObjectURL(address), limits.downloadBeginsMs);
      return;
    } catch (error) {
      const isPending = error instanceof RequestError && error.problem.evidence === 'pending';
      if (!isPending || tries >= limits.caseTries) throw error;
      const ms = (error.retryAfterSeconds ?? 1) * 1000;
      onWait(Date.now() + ms);
      await sleep(ms, signal);
    }
  }
}
