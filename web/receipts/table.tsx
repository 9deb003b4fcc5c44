import type { ComponentChildren } from 'preact';
import { fromRfc3339 } from '../api/instant.ts';
import { session } from '../api/session.ts';
import type { Receipt } from '../api/types.ts';
import { Icon } from '../ui/button.tsx';
import {
  formatAgo,
  formatBytes,
  formatDay,
  formatDuration,
  formatExact,
  formatNumber,
  formatSecond,
  formatZones,
} from '../ui/format.ts';
import { Middle } from '../ui/marked.tsx';
import { Skeleton } from '../ui/resource.tsx';
import { hrefOf } from '../ui/router.ts';
import { t, type TextKey } from '../ui/text.ts';

interface Column {
  /** Its class. */
  readonly name: string;
  readonly title: TextKey;
  /** Undefined where there is nothing to say. */
  readonly cell: (receipt: Receipt) => ComponentChildren;
}

const columns: readonly Column[] = [
  { name: 'file', title: 'fileName', cell: fileCell },
  {
    name: 'destination',
    title: 'receiptsDestination',
    cell: ({ destination: to }) => to && <Middle text={to} />,
  },
  { name: 'size', title: 'receiptsSize', cell: sizeCell },
  { name: 'started', title: 'state_started', cell: ({ started_at: at }) => timeCell(at) },
  { name: 'completed wide-only', title: 'receiptsCompleted', cell: ({ completed_at: at }) => timeCell(at) },
  { name: 'duration roomy-only', title: 'receiptsDuration', cell: durationCell },
  { name: 'status', title: 'status', cell: statusCell },
];

const rowsWaiting = 12;
const none = <span class="muted">–</span>;

/** A line for each transfer; before the first answer, rows as they will be. */
export function ReceiptTable({ receipts }: { readonly receipts: readonly Receipt[] | undefined }) {
  const started = receipts?.flatMap((receipt) => instant(receipt.started_at) ?? []) ?? [];
  const rows = receipts ?? Array.from({ length: rowsWaiting }, () => undefined);
  return (
    <div role="table" aria-label={t('receipts')} aria-busy={receipts === undefined}>
      <div role="row" class="row receipt head">
        {columns.map(({ name, title }) => (
          <span key={name} role="columnheader" class={name}>
            {t(title)}
            {name === 'started' && started.length > 0 && ` (${formatZones(started)})`}
          </span>
        ))}
      </div>
      {rows.map((receipt, index) => (
        <div key={index} role="row" class="row receipt">
          {columns.map(({ name, cell }) => (
            <span key={name} role="cell" class={name}>
              {receipt === undefined ? (
                <Skeleton at={index * 17 + name.length * 11} />
              ) : (
                (cell(receipt) ?? none)
              )}
            </span>
          ))}
        </div>
      ))}
    </div>
  );
}

const pictures = { upload: 'up', download: 'down', stream: 'stream' } as const;

function fileCell({ kind, file_name: file }: Receipt) {
  return (
    <>
      <span class="kind" title={t(`kind_${kind}`)}>
        <Icon name={pictures[kind]} />
        <span class="visually-hidden">{t(`kind_${kind}`)}: </span>
      </span>
      {file === undefined ? none : <Middle text={file} />}
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
  const micros = instant(at);
  if (micros === undefined) return undefined;
  return (
    <span class="when" title={`${formatExact(micros)} · ${formatAgo(micros)}`}>
      <span>{formatDay(micros)}</span>
      {formatSecond(micros)}
    </span>
  );
}

/** Clocks of several machines may not agree: what ends before it begins has no duration. */
function durationCell({ started_at: started, completed_at: completed }: Receipt) {
  const took = (instant(completed) ?? Number.NaN) - (instant(started) ?? Number.NaN);
  return took >= 0 ? formatDuration(took) : undefined;
}

const styles = { started: 'open', completed: '', failed: 'failed' } as const;

/** With the way to the events of the transfer, for those who may read them. */
function statusCell({ status, flow_id: flow }: Receipt) {
  const isReader = session.value.state === 'in' && session.value.who.user.role !== 'member';
  return (
    <>
      <span class={`state ${styles[status]}`}>{t(`state_${status}`)}</span>
      {isReader && flow !== undefined && (
        <a
          class="button icon-button quiet"
          href={hrefOf('events', new URLSearchParams({ range: 'all', flowId: flow }))}
          aria-label={t('receiptsEvents')}
          title={t('receiptsEvents')}
        >
          <Icon name="link" />
        </a>
      )}
    </>
  );
}
