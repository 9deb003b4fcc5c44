import { strict as assert } from 'node:assert';
import { type AuditEvent, call, type HttpAnswer } from './http.ts';
import type { Tenant } from './server.ts';

/** A page as a follower reads it. */
export interface FeedPage {
  readonly data: readonly AuditEvent[];
  readonly meta: {
    readonly next_cursor: string;
    readonly has_more: boolean;
    readonly settled_through: number;
    readonly read_through: number;
  };
}

type Query = Readonly<Record<string, string>>;

export const askFeed = ({ server, key }: Tenant, query: Query, headers: Query = {}): Promise<HttpAnswer> =>
  call(`${server.url}/api/v1/audit/feed?${new URLSearchParams(query).toString()}`, {
    headers: { 'x-api-key': key, ...headers },
  });

export async function feedPage(tenant: Tenant, query: Query = {}, headers: Query = {}): Promise<FeedPage> {
  const answer = await askFeed(tenant, query, headers);
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text) as FeedPage;
}

/** Everything from a cursor to the end of the feed, with the last cursor. */
export async function followFeed(
  tenant: Tenant,
  cursor = '',
  limit = '1000',
  headers: Query = {},
): Promise<[events: AuditEvent[], cursor: string]> {
  const events: AuditEvent[] = [];
  for (let at = cursor; ; ) {
    const { data, meta } = await feedPage(tenant, { cursor: at, limit }, headers);
    events.push(...data);
    at = meta.next_cursor;
    if (!meta.has_more) return [events, at];
  }
}
