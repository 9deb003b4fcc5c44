import './view.css';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { get } from '../api/request.ts';
import { Resource } from '../api/resource.ts';
import { session } from '../api/session.ts';
import type { ReceiptsPage } from '../api/types.ts';
import { Failure } from '../ui/failure.tsx';
import { Icon } from '../ui/icon.tsx';
import { formatNumber } from '../ui/number.ts';
import { hrefOf, place } from '../ui/router.ts';
import { t } from '../ui/text.ts';
import { ReceiptTable, WaitingTable } from './table.tsx';

/** Receipts of one page; the server's own count of a page. */
const pageReceipts = 50;

/** Somebody's own transfers: did the file arrive, when, and where. */
export default function ReceiptsView() {
  const receipts = useRef(new Resource<ReceiptsPage>()).current;
  const number = pageNumber(place.value.query);
  const load = () => {
    const parameters = { limit: pageReceipts, offset: (number - 1) * pageReceipts };
    void receipts.load((abort) => get('/api/v1/portal/receipts', parameters, { signal: abort }));
  };
  const isOff = isSwitchedOff() || receipts.error.value?.status === 403;
  useEffect(() => {
    if (!isSwitchedOff()) load();
    return () => receipts.stop();
  }, [receipts, number]);
  const page = receipts.data.value;
  const error = receipts.error.value;
  const total = page?.meta.total ?? 0;
  return (
    <div class="receipts wide-page">
      <header>
        <div>
          <h1>{t('receipts')}</h1>
          <p class="muted">{t('receiptsLead')}</p>
        </div>
        {!isOff && (
          <>
            <span class="count" role="status">
              {page !== undefined &&
                t(total === 1 ? 'receiptsTotalOne' : 'receiptsTotal', { n: formatNumber(total) })}
            </span>
            <button type="button" class="button" disabled={receipts.isLoading.value} onClick={load}>
              <Icon name="refresh" />
              <span class="roomy">{t('refresh')}</span>
            </button>
          </>
        )}
      </header>
      {isOff && <Nothing title={t('receiptsOff')}>{t('receiptsOffLead')}</Nothing>}
      {!isOff && error !== undefined && (
        <Failure error={error} retryAt={receipts.retryAt.value} onRetry={() => receipts.retry()} />
      )}
      {!isOff && page === undefined && error === undefined && <WaitingTable />}
      {!isOff && page !== undefined && (
        <div data-stale={receipts.isLoading.value} aria-busy={receipts.isLoading.value}>
          <Page page={page} number={number} />
        </div>
      )}
    </div>
  );
}

function pageNumber(query: URLSearchParams): number {
  const number = Number(query.get('page') ?? 1);
  return Number.isSafeInteger(number) && number > 0 ? number : 1;
}

function isSwitchedOff(): boolean {
  return session.value.state === 'in' && session.value.who.organization.receipts === 'off';
}

function Nothing({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p>{children}</p>
    </div>
  );
}

function Page({ page, number }: { readonly page: ReceiptsPage; readonly number: number }) {
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
  const link = (to: number, words: string, isThere: boolean) =>
    isThere ? (
      <a class="button small" href={hrefOf('receipts', new URLSearchParams({ page: String(to) }))}>
        {words}
      </a>
    ) : (
      <span class="button small" aria-disabled="true">
        {words}
      </span>
    );
  const { total, offset } = meta;
  const last = Math.min(total, offset + pageReceipts);
  return (
    <nav class="pager" aria-label={t('receiptsPages')}>
      <span>
        {t('receiptsPage', {
          first: formatNumber(offset + 1),
          last: formatNumber(last),
          total: formatNumber(total),
        })}
      </span>
      {link(number - 1, t('receiptsNewer'), number > 1)}
      {link(number + 1, t('receiptsOlder'), last < total)}
    </nav>
  );
}
