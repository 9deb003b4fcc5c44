import './view.css';
import type { ComponentChildren } from 'preact';
import { get } from '../api/request.ts';
import { session } from '../api/session.ts';
import type { ReceiptsPage } from '../api/types.ts';
import { formatNumber } from '../ui/format.ts';
import { Page } from '../ui/page.tsx';
import { Loaded, RefreshButton, useResource } from '../ui/resource.tsx';
import { hrefOf, place } from '../ui/router.ts';
import { t } from '../ui/text.ts';
import { ReceiptTable } from './table.tsx';

/** Receipts of one page; the server's own count of a page. */
const pageReceipts = 50;

/** Somebody's own transfers: did the file arrive, when, and where. */
export default function ReceiptsView() {
  const isOff = session.value.state === 'in' && session.value.who.organization.receipts === 'off';
  return isOff ? <Off /> : <Receipts />;
}

function Off() {
  return (
    <Page class="receipts" title={t('receipts')} lead={t('receiptsLead')}>
      <Nothing title={t('receiptsOff')}>{t('receiptsOffLead')}</Nothing>
    </Page>
  );
}

function Receipts() {
  const number = pageNumber(place.value.query);
  const { resource, reload } = useResource<ReceiptsPage>(
    (signal) => {
      const parameters = { limit: pageReceipts, offset: (number - 1) * pageReceipts };
      return get('/api/v1/portal/receipts', parameters, { signal });
    },
    [number],
  );
  if (resource.error.value?.status === 403) return <Off />;
  const total = resource.data.value?.meta.total;
  const words = total === 1 ? 'receiptsTotalOne' : 'receiptsTotal';
  const end = (
    <>
      <strong class="count" role="status">
        {total !== undefined && t(words, { n: formatNumber(total) })}
      </strong>
      <RefreshButton resource={resource} onClick={reload} />
    </>
  );
  return (
    <Page class="receipts" title={t('receipts')} lead={t('receiptsLead')} end={end}>
      <Loaded resource={resource} waiting={<ReceiptTable receipts={undefined} />}>
        {(page) => (
          <div data-stale={resource.isLoading.value} aria-busy={resource.isLoading.value}>
            <Rows page={page} number={number} />
          </div>
        )}
      </Loaded>
    </Page>
  );
}

function pageNumber(query: URLSearchParams): number {
  const number = Number(query.get('page') ?? 1);
  return Number.isSafeInteger(number) && number > 0 ? number : 1;
}

function Nothing({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p>{children}</p>
    </div>
  );
}

function Rows({ page, number }: { readonly page: ReceiptsPage; readonly number: number }) {
  const { data, meta } = page;
  if (meta.total === 0) return <Nothing title={t('receiptsNone')}>{t('receiptsNoneLead')}</Nothing>;
  if (data.length === 0) {
    return (
      <Nothing title={t('receiptsBeyond')}>
        <a href={hrefOf('receipts')}>{t('receiptsFirst')}</a>
      </Nothing>
    );
  }
  return (
    <>
      <ReceiptTable receipts={data} />
      {meta.total > pageReceipts && <Pager meta={meta} number={number} />}
    </>
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
