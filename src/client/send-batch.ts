import { AuditlogError } from './error.ts';
import { type RetryHooks, type RetryPolicy, withRetries } from './retry.ts';
import { endpoint, type Refusals, refusalsOf, request } from './transport.ts';

/** Where batches go, and how often they are tried. */
export interface BatchRoute {
  readonly base: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** In place of the global one. */
  readonly fetch?: typeof fetch | undefined;
  readonly retry: RetryPolicy;
  readonly hooks: RetryHooks;
  /** How many refusals the service shall name; by default the first hundred. */
  readonly maxErrors?: number;
}

export interface BatchBody {
  /** NDJSON, compressed if it says so. */
  readonly body: Uint8Array;
  readonly isGzip?: boolean;
  readonly events: number;
  readonly idempotencyKey: string;
}

/** What the service did with a batch, in events; `errors` names refused ones by their index. */
export interface BatchAnswer {
  readonly accepted: number;
  readonly rejected: number;
  readonly errors: Refusals;
}

/**
 * Sends a batch to be stored once (contract: Ingest), with retries. Rejects with AuditlogError if it is refused as a
 * whole.
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
    // None of the events was accepted.
    if (status === 400 && errors !== undefined) return { accepted: 0, rejected: events, errors };
    throw error;
  }
}

function readAnswer(text: string, events: number): BatchAnswer {
  try {
    const body = JSON.parse(text) as { accepted?: unknown; rejected?: unknown } | null;
    const { accepted, rejected } = body ?? {};
    if (typeof accepted === 'number' && typeof rejected === 'number' && accepted + rejected === events)
      return { accepted, rejected, errors: refusalsOf(body) ?? [] };
  } catch {
    // An answer cut short: asked for again with the same key.
  }
  throw new AuditlogError('protocol', 'the answer to a batch is not what the service sends');
}
