import { AuditlogError } from './error.ts';
import { type RetryHooks, type RetryPolicy, withRetries } from './retry.ts';
import { endpoint, type Refusals, readRefusals, request } from './transport.ts';

export interface BatchRoute {
  readonly base: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly fetch?: typeof fetch | undefined;
  readonly retry: RetryPolicy;
  readonly hooks: RetryHooks;
  /** Errors that the service should name; default 100. */
  readonly maxErrors?: number;
}

export interface BatchBody {
  readonly body: Uint8Array;
  readonly isGzip?: boolean;
  readonly events: number;
  readonly idempotencyKey: string;
}

/** In events; `errors` names rejected ones by index. */
export interface BatchAnswer {
  readonly accepted: number;
  readonly rejected: number;
  readonly errors: Refusals;
}

/**
 * Stores a batch once (contract: Ingest), with retries. Rejects with AuditlogError if the batch is refused as
 * a whole.
 */
export async function sendBatch(route: BatchRoute, batch: BatchBody): Promise<BatchAnswer> {
  const { base, timeoutMs, maxErrors, hooks, fetch } = route;
  const headers = {
    ...route.headers,
    'content-type': 'application/x-ndjson',
    'idempotency-key': batch.idempotencyKey,
    ...(batch.isGzip === true && { 'content-encoding': 'gzip' }),
  };
  const call = { method: 'POST', url: endpoint(base, 'api/v1/audit', { maxErrors }), headers } as const;
  const { body, events } = batch;
  try {
    return await withRetries(route.retry, hooks, async () => {
      const answer = await request({ ...call, body, timeoutMs, fetch, signal: hooks.signal });
      return readAnswer(answer, events);
    });
  } catch (error) {
    const { status, errors } = error instanceof AuditlogError ? error : {};
    if (status === 400 && errors !== undefined) return { accepted: 0, rejected: events, errors };
    throw error;
  }
}

function readAnswer(text: string, events: number): BatchAnswer {
  try {
    const body = JSON.parse(text) as { accepted?: unknown; rejected?: unknown } | null;
    const { accepted, rejected } = body ?? {};
    if (typeof accepted === 'number' && typeof rejected === 'number' && accepted + rejected === events)
      return { accepted, rejected, errors: readRefusals(body) ?? [] };
  } catch {
    // A truncated answer: retried with the same key.
  }
  throw new AuditlogError('protocol', 'unexpected answer to a batch');
}
