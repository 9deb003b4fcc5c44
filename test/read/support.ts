import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import type { Organization } from '../../src/control/organizations.ts';
import type { User } from '../../src/control/users.ts';
import type { SessionCaller } from '../../src/http/endpoint.ts';
import type { Reply } from '../../src/http/response.ts';
import type { RequestContext } from '../../src/http/request-context.ts';
import { decoded, encoded, type Row } from '../ocsf/arbitrary.ts';
import { BlockBuilder } from '../../src/ingest/native-block.ts';
import { encodeSeqColumn, nextSegmentNumber, segmentSeqRange } from '../../src/base/events/sequence.ts';
import { Mapper } from '../../src/ocsf/audit-event.ts';
import { Redaction } from '../../src/ocsf/redact.ts';
import { toWindow } from '../../src/ocsf/byte-text.ts';
import type { QueryOptions, Storage } from '../../src/storage/storage.ts';
import { createSegmentInsert } from '../../src/storage/insert.ts';
import { silentLog } from '../support/engine.ts';

/** A stored row with its order number. */
export interface Recorded extends Row {
  readonly seq: bigint;
}

/**
 * Stores source events like ingest, one segment a call, and returns their rows. A function finds the organization
 * of `message.org`.
 */
export type Recorder = (
  org: string | ((reference: string | undefined) => string),
  events: readonly (object | string)[],
  /** `own`: as the service's own events. */
  how?: { readonly own?: boolean },
) => Promise<Recorded[]>;

const rowsPerBlock = 50_000;

/** `now`: the time of recording (Unix milliseconds). */
interface RecorderOptions {
  readonly now?: () => number;
  readonly retentionDays?: number;
}

export function createRecorder(storage: Storage, options: RecorderOptions = {}): Recorder {
  const { now = Date.now, retentionDays } = options;
  const mapper = new Mapper({ appName: 'Test', redaction: new Redaction(['password']), now });
  const insert = createSegmentInsert(storage, silentLog);
  let segment = 0;
  return async (org, events, how = {}) => {
    segment = nextSegmentNumber(now(), 3, segment);
    const rows = events.map((event) => {
      const window = toWindow(typeof event === 'string' ? event : JSON.stringify(event));
      const row = mapper.map(window, 0, window.text.length, (reference) => ({
        id: typeof org === 'string' ? org : org(reference),
        retentionDays,
      }));
      if (typeof row === 'string') throw new Error(`the event was refused: ${row}`);
      return decoded(row);
    });
    const body: Uint8Array[] = [];
    const builder = new BlockBuilder(how);
    for (let first = 0; first < rows.length; first += rowsPerBlock) {
      const some = rows.slice(first, first + rowsPerBlock);
      for (const row of some) builder.add(encoded(row));
      const block = new Uint8Array(builder.bytes());
      builder.finish(block, 0);
      body.push(block, encodeSeqColumn(segment, first, some.length));
    }
    const seq = segmentSeqRange(segment);
    const take = () => Promise.resolve(segment);
    await insert({ segment, rows: rows.length, earlier: [], isDamaged: false, take, body: () => body });
    return rows.map((row, index) => ({ ...row, seq: BigInt(seq.first) + BigInt(index) }));
  };
}

/**
 * Copies an organization's events (at most a thousand) in the table this many times, because large events cost
 * only the engine so. Each copy has its own order numbers; the last one's are `times` thousand higher.
 */
export function copyEvents(storage: Storage, org: string, times: number): Promise<void> {
  return storage.command(
    `INSERT INTO events SELECT * REPLACE (seq + copy * 1000 AS seq) FROM events
     ARRAY JOIN range(1, 1 + {times:UInt64}) AS copy WHERE org = {org:UUID}`,
    { org, times },
  );
}

/** The same storage, with this much of the engine's memory for a read. */
export function withMemory(storage: Storage, bytes: number): Storage {
  const bounded = <O extends QueryOptions>(options: O): O => ({
    ...options,
    settings: { ...options.settings, max_memory_usage: bytes },
  });
  return {
    ...storage,
    rows: (query, parameters, options = {}) => storage.rows(query, parameters, bounded(options)),
    readRows: (query, parameters, options = {}) => storage.readRows(query, parameters, bounded(options)),
    flow: (query, parameters, options = {}) => storage.flow(query, parameters, bounded(options)),
  };
}

/** The order of answers: newest first, then last recorded first. */
export function newestFirst(a: Recorded, b: Recorded): number {
  return b.timeMicros - a.timeMicros || (b.seq > a.seq ? 1 : -1);
}

/** A signed-in user of a new organization, with changes for either. */
export function createCaller(
  changes: { user?: Partial<User>; organization?: Partial<Organization> } = {},
): SessionCaller {
  const organization: Organization = {
    id: randomUUID(),
    slug: 'acme',
    name: 'Acme',
    retentionDays: undefined,
    receipts: 'own',
    createdMicros: 0,
    deletedMicros: undefined,
    ...changes.organization,
  };
  const email = changes.user?.email ?? 'Ann@Example.com';
  const user: User = {
    id: randomUUID(),
    organizationId: organization.id,
    email,
    emailLower: email.toLowerCase(),
    name: 'Ann',
    role: 'auditor',
    passwordHash: '',
    credentialVersion: 1,
    createdMicros: 0,
    changedMicros: 0,
    disabledMicros: undefined,
    ...changes.user,
  };
  return { user, organization, id: randomUUID(), expiresMicros: 0, token: '' };
}

export type SessionHandler = (context: RequestContext, caller: SessionCaller) => Promise<Reply> | Reply;

/** A handler's answer to a query; the handler may read only the query. */
export async function answerOf<T>(
  handler: SessionHandler,
  caller: SessionCaller,
  query: Readonly<Record<string, string | number>> = {},
): Promise<T> {
  const context = {
    head: { path: '/' },
    query: new URLSearchParams(
      Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)])),
    ),
    signal: new AbortController().signal,
  } as unknown as RequestContext;
  const reply = await handler(context, caller);
  assert.equal(reply.status, 200);
  assert.ok('body' in reply);
  const { body } = reply;
  return JSON.parse(Buffer.from(body).toString('utf8')) as T;
}
