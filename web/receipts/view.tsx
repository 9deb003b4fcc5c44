import './view.css';
import { fromRfc3339 } from '../api/instant.ts';
import { withQuery } from '../api/request.ts';
import { who } from '../api/session.ts';
import type { Receipt, ReceiptsPage } from '../api/types.ts';
import { isNarrow } from '../ui/browser.ts';
import { Icon } from '../ui/button.tsx';
import { formatBytes, formatDuration, formatSecond, formatZones } from '../ui/format.ts';
import { type Column, Moment, Table } from '../ui/list.tsx';
import { Marked, Middle } from '../ui/marked.tsx';
import { Page } from '../ui/page.tsx';
import { FailureOf, useResource } from '../ui/resource.tsx';
import { hrefOf, place } from '../ui/router.ts';
import { t } from '../ui/text.ts';

/** Receipts of one page, as on the server. */
const pageReceipts = 50;

export default function ReceiptsView() {
  const number = pageNumber(place.value.query);
  const parameters = { limit: pageReceipts, offset: (number - 1) * pageReceipts };
  const { resource } = useResource<ReceiptsPage>(withQuery('/api/v1/portal/receipts', parameters));
  const isOff = resource.error.value?.status === 403;
  const { data: receipts, meta } = resource.data.value ?? {};
  const total = meta?.total;
  const hasPages = meta !== undefined && meta.total > pageReceipts && meta.offset < meta.total;
  const end = (
    <strong class="count" role="status">
      {total !== undefined && t('receiptsTotal', { n: total })}
    </strong>
  );
  return (
    <Page class="receipts" title={t('receipts')} lead={t('receiptsLead')} end={end}>
      {!isOff && <FailureOf resource={resource} />}
      {isOff || receipts?.length === 0 ? (
        <None isOff={isOff} isBeyond={total !== 0} />
      ) : (
        <Table
          title={t('receipts')}
          resource={resource}
          items={receipts}
          columns={receiptColumns(receipts ?? [])}
        />
      )}
      {!isOff && hasPages && <Pager meta={meta} number={number} />}
    </Page>
  );
}

function pageNumber(query: URLSearchParams): number {
  const number = Number(query.get('page') ?? 1);
  return Number.isSafeInteger(number) && number > 0 ? number : 1;
}

function None({ isOff, isBeyond }: Readonly<Record<'isOff' | 'isBeyond', boolean>>) {
  const [title, words] = isOff
    ? [t('receiptsOff'), t('receiptsOffLead')]
    : isBeyond
      ? [t('receiptsBeyond'), <a href={hrefOf('receipts')}>{t('receiptsFirst')}</a>]
      : [t('receiptsNone'), t('receiptsNoneLead')];
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p>{words}</p>
    </div>
  );
}

function Pager({ meta, number }: { readonly meta: ReceiptsPage['meta']; readonly number: number }) {
  const { total, offset } = meta;
  const last = Math.min(total, offset + pageReceipts);
  const link = (to: number, words: string, isThere: boolean) => {
    const href = hrefOf('receipts', new URLSearchParams({ page: String(to) }));
    return (
      <a class="button small" {...(isThere ? { href } : { role: 'link', 'aria-disabled': true })}>
        {words}
      </a>
    );
  };
  return (
    <nav class="pager line" aria-label={t('receiptsPages')}>
      <span>{t('receiptsPage', { first: offset + 1, last, total })}</span>
      {link(number - 1, t('receiptsNewer'), number > 1)}
      {link(number + 1, t('receiptsOlder'), last < total)}
    </nav>
  );
}

function receiptColumns(receipts: readonly Receipt[]): Column<Receipt>[] {
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
  return <span title={t('receiptsBytes', { n: size })}>{formatBytes(size)}</span>;
}

function instant(text: string | undefined): number | undefined {
  return text === undefined ? undefined : fromRfc3339(text);
}

function timeCell(at: string | undefined) {
  return at && <Moment at={at} clock={formatSecond} />;
}

/** Clocks of machines differ: a transfer that ends before it begins has no duration. */
function durationCell({ started_at: started, completed_at: completed }: Receipt) {
  const took = (instant(completed) ?? Number.NaN) - (instant(started) ?? Number.NaN);
  return took >= 0 ? formatDuration(took) : undefined;
}

const styles = { started: 'open', completed: '', failed: 'failed' } as const;

/** Links to the events of the transfer, for those who may read them. */
function statusCell({ status, flow_id: flow }: Receipt) {
  const isReader = who.value !== undefined && who.value.user.role !== 'member';
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
