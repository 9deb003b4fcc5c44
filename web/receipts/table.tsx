import type { ComponentChildren } from 'preact';
import { fromRfc3339 } from '../api/instant.ts';
import { session } from '../api/session.ts';
import type { Receipt } from '../api/types.ts';
import { Icon } from '../ui/icon.tsx';
import { Middle } from '../ui/marked.tsx';
import { formatBytes, formatNumber } from '../ui/number.ts';
import { hrefOf } from '../ui/router.ts';
import { Skeleton } from '../ui/skeleton.tsx';
import { t, type TextKey } from '../ui/text.ts';
import { formatAgo, formatClock, formatDay, formatDuration, formatExact, formatZones } from '../ui/time.ts';

const columns = ['file', 'destination', 'size', 'started', 'completed', 'duration', 'status'] as const;
type Column = (typeof columns)[number];

const titles: Readonly<Record<Column, TextKey>> = {
  file: 'file',
  destination: 'receiptsDestination',
  size: 'receiptsSize',
  started: 'receiptsStarted',
  completed: 'receiptsCompleted',
  duration: 'receiptsDuration',
  status: 'status',
};

const kinds = {
  upload: { icon: 'up', words: 'receiptsUpload' },
  download: { icon: 'down', words: 'receiptsDownload' },
  stream: { icon: 'stream', words: 'receiptsStream' },
} as const;

const states = {
  started: { style: 'open', words: 'receiptsStarted' },
  completed: { style: '', words: 'receiptsStateCompleted' },
  failed: { style: 'failed', words: 'receiptsStateFailed' },
} as const;

const waitingRows = 12;

/** Rows as they will be, before the first answer. */
export function WaitingTable() {
  return (
    <div class="receipt-table" role="status" aria-label={t('loading')}>
      {Array.from({ length: waitingRows }, (_, index) => (
        <div key={index} class="row receipt">
          {columns.map((column) => (
            <span key={column} class={column}>
              <Skeleton at={index * 17 + column.length * 11} />
            </span>
          ))}
        </div>
      ))}
    </div>
  );
}

export function ReceiptTable({ receipts }: { readonly receipts: readonly Receipt[] }) {
  const started = receipts.flatMap((receipt) => instant(receipt.started_at) ?? []);
  return (
    <div class="receipt-table" role="table" aria-label={t('receipts')}>
      <div role="row" class="row receipt head">
        {columns.map((column) => (
          <span key={column} role="columnheader" class={column}>
            {t(titles[column])}
            {column === 'started' && ` (${formatZones(started)})`}
          </span>
        ))}
      </div>
      {receipts.map((receipt, index) => (
        <Row key={index} receipt={receipt} />
      ))}
    </div>
  );
}

function Row({ receipt }: { readonly receipt: Receipt }) {
  const { kind, file_name: file, file_size: size, destination, status } = receipt;
  const started = instant(receipt.started_at);
  const completed = instant(receipt.completed_at);
  const took = started === undefined || completed === undefined ? undefined : completed - started;
  return (
    <div role="row" class="row receipt">
      <Cell column="file">
        <span class="kind" title={t(kinds[kind].words)}>
          <Icon name={kinds[kind].icon} />
          <span class="visually-hidden">{t(kinds[kind].words)}: </span>
        </span>
        {file === undefined ? <span class="muted">–</span> : <Middle text={file} />}
      </Cell>
      <Cell column="destination">{destination === undefined ? none : <Middle text={destination} />}</Cell>
      <Cell column="size">
        {size === undefined ? (
          none
        ) : (
          <span title={t('receiptsBytes', { n: formatNumber(size) })}>{formatBytes(size)}</span>
        )}
      </Cell>
      <Cell column="started">
        <Moment micros={started} />
      </Cell>
      <Cell column="completed">
        <Moment micros={completed} />
      </Cell>
      {/* Clocks of several machines may not agree: what ends before it begins has no duration. */}
      <Cell column="duration">{took === undefined || took < 0 ? none : formatDuration(took)}</Cell>
      <Cell column="status">
        <span class={`state ${states[status].style}`}>{t(states[status].words)}</span>
        <FlowLink flow={receipt.flow_id} />
      </Cell>
    </div>
  );
}

const none = <span class="muted">–</span>;

function Cell({ column, children }: { readonly column: Column; readonly children: ComponentChildren }) {
  return (
    <span role="cell" class={column}>
      {children}
    </span>
  );
}

function instant(text: string | undefined): number | undefined {
  return text === undefined ? undefined : fromRfc3339(text);
}

function Moment({ micros }: { readonly micros: number | undefined }) {
  if (micros === undefined) return none;
  return (
    <span class="when" title={`${formatExact(micros)} · ${formatAgo(micros)}`}>
      <span>{formatDay(micros)}</span>
      {formatClock(micros).slice(0, -4)}
    </span>
  );
}

/** To the events of the transfer, for those who may read them. */
function FlowLink({ flow }: { readonly flow: string | undefined }) {
  const isReader = session.value.state === 'in' && session.value.who.user.role !== 'member';
  if (!isReader || flow === undefined) return null;
  return (
    <a
      class="button icon-button quiet"
      href={hrefOf('events', new URLSearchParams({ range: 'all', flowId: flow }))}
      aria-label={t('receiptsEvents')}
      title={t('receiptsEvents')}
    >
      <Icon name="link" />
    </a>
  );
}
