import './view.css';
import { get } from '../api/request.ts';
import type { ReceiptsPage } from '../api/types.ts';
import { formatNumber } from '../ui/format.ts';
import { Table } from '../ui/list.tsx';
import { Page } from '../ui/page.tsx';
import { FailureOf, useResource } from '../ui/resource.tsx';
import { hrefOf, place } from '../ui/router.ts';
import { t } from '../ui/text.ts';
import { receiptColumns } from './columns.tsx';

/** Receipts of one page, as on the server. */
const pageReceipts = 50;

/** The signed-in user's own transfers. */
export default function ReceiptsView() {
  const number = pageNumber(place.value.query);
  const { resource } = useResource<ReceiptsPage>(
    (signal) => {
      const parameters = { limit: pageReceipts, offset: (number - 1) * pageReceipts };
      return get('/api/v1/portal/receipts', parameters, { signal });
    },
    [number],
  );
  const isOff = resource.error.value?.status === 403;
  const { data: receipts, meta } = resource.data.value ?? {};
  const total = meta?.total;
  const hasPages = meta !== undefined && meta.total > pageReceipts && meta.offset < meta.total;
  const end = (
    <strong class="count" role="status">
      {total !== undefined && t('receiptsTotal', { n: formatNumber(total) })}
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

/** Explains an empty list. */
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
  const n = formatNumber;
  return (
    <nav class="pager line" aria-label={t('receiptsPages')}>
      <span>{t('receiptsPage', { first: n(offset + 1), last: n(last), total: n(total) })}</span>
      {link(number - 1, t('receiptsNewer'), number > 1)}
      {link(number + 1, t('receiptsOlder'), last < total)}
    </nav>
  );
}
