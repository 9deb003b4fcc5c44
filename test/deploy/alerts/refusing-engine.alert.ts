import { crc32c } from '@node-rs/crc32';
import { strict as assert } from 'node:assert';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { firstSeqOf, writersMax } from '../../../src/base/events/sequence.ts';
import { limits } from '../../../src/http/limits.ts';
import {
  encodeFileHeader,
  encodeFrame,
  fileHeaderBytes,
  frameSeed,
  segmentName,
  segmentOfName,
} from '../../../src/ingest/segment.ts';
import { withEngine } from '../../e2e/export-support.ts';
import { temporaryDirectory } from '../../support/directories.ts';
import { call, eventually } from '../../support/http.ts';
import { Browser, type OidcProvider, startOidcProvider } from '../../support/oidc-provider.ts';
import { patience } from '../../support/patience.ts';
import { freePort } from '../../support/plain-engine.ts';
import {
  createTenant,
  printed,
  sourceEvent,
  startServer,
  type Tenant,
  type TestServer,
} from '../../support/server.ts';
import { alertMsMax, TestPrometheus } from './prometheus.ts';

const slug = 'refusing';
/** Of an insert of hundreds of parts, on a quiet machine. */
const partsMsMax = 60_000;
/** Of the service itself: a login that failed. */
const loginFailed = 1002;

/** A segment whose sums are right and whose content is no block of the engine, as a fault of the service would write it. */
function unreadableSegment(number: number): Buffer {
  const payload = Buffer.from('no block of the engine');
  const frame = { rows: 1, payload, payloadCrc: crc32c(payload), notes: '' };
  const position = { seed: frameSeed(number), firstRow: 0, durableBytes: fileHeaderBytes };
  return Buffer.concat([encodeFileHeader(number), ...encodeFrame(frame, position).parts]);
}

describe('alerts of a service whose engine answers, and takes no events', () => {
  let dataDir = '';
  let start: () => Promise<TestServer>;
  let server: TestServer;
  let tenant: Tenant;
  let provider: OidcProvider;
  let prometheus: TestPrometheus;

  before(async () => {
    dataDir = await temporaryDirectory();
    const port = await freePort();
    const env = {
      PORT: String(port),
      WAL_MAX_BYTES: '1 MiB',
      RATE_LIMIT_LOGIN: 'off',
      RATE_LIMIT_TENANT: 'off',
      RATE_LIMIT_AUDIT: 'off',
    };
    start = () => startServer({ dataDir, env });
    server = await start();
    tenant = await createTenant(server, slug);
    provider = await startOidcProvider([`${server.url}/api/v1/auth/sign-on/callback/${slug}`]);
    const { issuer, clientId, clientSecret } = provider;
    const args = ['sign-on', 'set', '--org', slug, '--issuer', issuer, '--client-id', clientId];
    printed(await server.cliHere([...args, '--client-secret-stdin', '--json'], `${clientSecret}\n`));
    prometheus = await TestPrometheus.start([{ job: 'auditlog', port }]);
  });

  after(async () => {
    await prometheus?.stop();
    await provider?.stop();
    await server?.stop();
    await rm(dataDir, { recursive: true });
  });

  const command = (statement: string) => withEngine(server, (storage) => storage.command(statement));
  const events = (count: number) => tenant.post(Array.from({ length: count }, () => sourceEvent({})));

  /** One after the other: the smallest, too, has to find the log full. */
  async function fillLog(): Promise<void> {
    for (const count of [100, 1])
      await eventually(
        'the log to be full',
        async () => (await events(count)).status === 503 || undefined,
        alertMsMax,
        0,
      );
  }

  /** The place where the provider sends browsers back to, and the cookie of one that has been sent there. */
  async function beginSignOn(): Promise<{ readonly callback: string; readonly cookie: string }> {
    const browser = new Browser();
    await eventually('the server to know the provider', async () => {
      const { status } = await browser.get(`${server.url}/api/v1/auth/sign-on?organization=${slug}`);
      return status === 303 || undefined;
    });
    return {
      callback: `${server.url}/api/v1/auth/sign-on/callback/${slug}?state=of-another`,
      cookie: browser.cookies(server.url),
    };
  }

  /** The log has one at all times. */
  async function newestSegment(): Promise<number> {
    const names = await readdir(join(dataDir, 'wal'));
    const newest = Math.max(...names.flatMap((name) => segmentOfName(name) ?? []));
    assert.ok(Number.isSafeInteger(newest), names.join(' '));
    return newest;
  }

  async function failedLogins(): Promise<number> {
    const query = 'SELECT count() AS events FROM events WHERE activity_id = {loginFailed:UInt16}';
    const [row] = await withEngine(server, (storage) =>
      storage.rows<{ events: string }>(query, { loginFailed }),
    );
    return Number(row?.events);
  }

  async function metric(name: string): Promise<number> {
    const { text } = await call(`${server.url}/metrics`);
    const [, value] = new RegExp(`^${name} (\\S+)$`, 'm').exec(text) ?? [];
    assert.ok(value !== undefined, `no metric ${name}`);
    return Number(value);
  }

  test('inserts that fail again and again, and sign-ins meanwhile, more than can be held', async () => {
    await prometheus.quiet('AuditlogInsertsRepeated');
    await prometheus.quiet('AuditlogOwnEventsHeld');
    await prometheus.quiet('AuditlogOwnEventsLost');
    let tries = 0;
    const failToSignIn = async () => {
      const answers = Array.from({ length: 40 }, async () => {
        // Anew each time: a way back is good once.
        const { callback, cookie } = await beginSignOn();
        return call(callback, { headers: { cookie } });
      });
      for (const { status } of await Promise.all(answers)) assert.ok(status === 503 || status === 401);
      tries += answers.length;
    };
    await command('ALTER TABLE events ADD CONSTRAINT takes_none CHECK 0');
    try {
      await fillLog();
      while (tries <= limits.selfAuditHeldEventsMax) await failToSignIn();
      await prometheus.fires('AuditlogOwnEventsLost', failToSignIn);
      await prometheus.fires('AuditlogInsertsRepeated');
      await prometheus.fires('AuditlogOwnEventsHeld');
    } finally {
      await command('ALTER TABLE events DROP CONSTRAINT takes_none');
    }
    // What was held is recorded late, and all else is counted as lost.
    await eventually(
      'what was held to be recorded',
      async () => (await metric('auditlog_self_audit_held_events')) === 0 || undefined,
      alertMsMax,
    );
    const lost = await metric('auditlog_self_audit_lost_events_total');
    assert.ok(lost > 0);
    await tenant.caughtUp();
    assert.equal(await failedLogins(), tries - lost);
  });

  test('more parts in a month than merges should leave', async () => {
    await prometheus.quiet('AuditlogManyParts');
    await command('SYSTEM STOP MERGES events');
    // Of another writer, whose numbers the service does not give out.
    const first = firstSeqOf((await newestSegment()) + 1);
    // A block, and so a part, for each row; of nobody's organization.
    await withEngine(server, (storage) =>
      storage.command(
        `INSERT INTO events (seq, org, time, expires)
         SELECT {first:UInt64} + number, generateUUIDv4(), now64(6), '2149-06-06' FROM numbers(601)
         SETTINGS max_block_size = 1, min_insert_block_size_rows = 1, max_insert_threads = 1`,
        { first: String(first) },
        { timeoutMs: patience(partsMsMax) },
      ),
    );
    await prometheus.fires('AuditlogManyParts');
    await command('SYSTEM START MERGES events');
    await eventually(
      'merges to make fewer of them',
      async () => !(await prometheus.holdsOf('AuditlogManyParts')) || undefined,
      alertMsMax,
    );
  });

  test('a segment whose content the engine cannot read', async () => {
    await prometheus.quiet('AuditlogSegmentRefused');
    await prometheus.quiet('AuditlogDamage');
    assert.equal(await server.stop(), 0);
    // The next one of the same writer.
    const number = (await newestSegment()) + writersMax;
    await writeFile(join(dataDir, 'wal', segmentName(number)), unreadableSegment(number));
    server = await start();
    await prometheus.fires('AuditlogSegmentRefused');
    await prometheus.fires('AuditlogDamage');
    // What is told by a count since the start is known for as long as the file is there.
    assert.equal(await server.stop(), 0);
    server = await start();
    await eventually(
      'the count to begin anew',
      async () => !(await prometheus.holdsOf('AuditlogSegmentRefused')) || undefined,
      alertMsMax,
    );
    await prometheus.fires('AuditlogDamage');
  });
});
