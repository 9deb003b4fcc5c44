import { fromRfc3339 } from '../api/instant.ts';
import { session } from '../api/session.ts';
import type { Receipt } from '../api/types.ts';
import { isNarrow } from '../ui/browser.ts';
import { Icon } from '../ui/button.tsx';
import {
  formatBytes,
  formatDay,
  formatDuration,
  formatNumber,
  formatSecond,
  formatZones,
  zoneIfTwice,
} from '../ui/format.ts';
import { type Column, Moment } from '../ui/list.tsx';
import { Marked, Middle } from '../ui/marked.tsx';
import { hrefOf } from '../ui/router.ts';
import { t } from '../ui/text.ts';

export function receiptColumns(receipts: readonly Receipt[]): Column<Receipt>[] {
  const zones = formatZones(receipts.flatMap(({ started_at: at }) => instant(at) ?? []));
  return [
    { title: t('fileName'), look: 'file', cell: fileCell },
    {
      title: t('receiptsDestination'),
      look: 'destination roomy-only',
      cell: ({ destination: to }) => to && <Middle text={to} />,
    },
    { title: t('receiptsSize'), look: 'roomy-only', cell: sizeCell },
    {
      title: `${t('state_started')} (${zones})`,
      look: 'roomy-only',
      cell: ({ started_at: at }) => timeCell(at),
    },
    { title: t('receiptsCompleted'), look: 'wide-only', cell: ({ completed_at: at }) => timeCell(at) },
    { title: t('receiptsDuration'), look: 'roomy-only', cell: durationCell },
    { title: t('status'), cell: statusCell },
  ];
}

const pictures = { upload: 'up', download: 'down', stream: 'stream' } as const;

/** On a phone it includes the values of the hidden columns. */
function fileCell(receipt: Receipt) {
  const { kind, file_name: file, destination, started_at: started } = receipt;
  return (
    <>
      <span class="kind" title={t(`kind_${kind}`)}>
        <Icon name={pictures[kind]} />
        <span class="visually-hidden">{t(`kind_${kind}`)}: </span>
        {file === undefined ? '–' : <Middle text={file} />}
      </span>
      {isNarrow.value && (
        <p>
          {destination && <Marked text={destination} />} {sizeCell(receipt)} {timeCell(started)}
        </p>
      )}
    </>
  );
}

function sizeCell({ file_size: size }: Receipt) {
  if (size === undefined) return undefined;
  return <span title={t('receiptsBytes', { n: formatNumber(size) })}>{formatBytes(size)}</span>;
}

function instant(text: string | undefined): number | undefined {
  return text === undefined ? undefined : fromRfc3339(text);
}

function timeCell(at: string | undefined) {
  return (
    at && (
      <Moment
        at={at}
        format={(micros) => `${formatDay(micros)} ${formatSecond(micros)}${zoneIfTwice(micros)}`}
      />
    )
  );
}

/** Clocks of machines differ: a transfer that ends before it begins has no duration. */
function durationCell({ started_at: started, completed_at: completed }: Receipt) {
  const took = (instant(completed) ?? Number.NaN) - (instant(started) ?? Number.NaN);
  return took >= 0 ? formatDuration(took) : undefined;
}

const styles = { started: 'open', completed: '', failed: 'failed' } as const;

/** Links to the events of the transfer, for those who may read them. */
function statusCell({ status, flow_id: flow }: Receipt) {
  const isReader = session.value.state === 'in' && session.value.who.user.role !== 'member';
  return (
    <span class="status">
      <span class={`state ${styles[status]}`}>{t(`state_${status}`)}</span>
      {isReader && flow !== undefined && (
        <a
          class="button icon-button quiet push"
          href={hrefOf('events', new URLSearchParams({ range: 'all', flowId: flow }))}
          aria-label={t('receiptsEvents')}
          title={t('receiptsEvents')}
        >
          <Icon name="link" />
        </a>
      )}
    </span>
  );
}
