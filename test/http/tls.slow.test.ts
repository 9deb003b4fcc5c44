import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, type RequestOptions, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { fromReadable } from '../../src/base/bytes/byte-flow.ts';
import { certificateFacts } from '../../src/base/network/certificate.ts';
import { renderMetrics } from '../../src/base/observability/metrics.ts';
import { CertificateWatch } from '../../src/http/certificate-watch.ts';
import type { CertificateFiles } from '../../src/http/deps.ts';
import type { Route } from '../../src/http/router.ts';
import { type Authority, type Certificate, makeAuthority } from '../support/certificates.ts';
import { eventually } from '../support/http.ts';
import { recordingLogger, type LoggedLine, startTestServer, type TestServer } from './support.ts';

const noise = randomBytes(12 * 1024 * 1024);
const routes: readonly Route[] = [
  {
    method: 'GET',
    path: '/show',
    name: 'show',
    handler: ({ head: { secure, certified } }) => ({
      status: 200,
      body: JSON.stringify({ secure, certified }),
    }),
  },
  {
    method: 'GET',
    path: '/noise',
    name: 'noise',
    handler: () => ({
      status: 200,
      headers: { 'Content-Type': 'application/zip' },
      stream: fromReadable(
        Readable.from([noise.subarray(0, 100), noise.subarray(100)], { objectMode: false }),
      ),
    }),
  },
];

let directory = '';
let authority: Authority | undefined;
let [first, second]: (Certificate | undefined)[] = [];

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tls-test-'));
  authority = await makeAuthority(directory);
  first = await authority?.issue('first');
  second = await authority?.issue('second');
});
after(() => rm(directory, { recursive: true }));

/** Fixtures; undefined, with the test skipped, without openssl. */
function made(context: TestContext) {
  if (authority === undefined || first === undefined || second === undefined) {
    context.skip('openssl is not installed');
    return undefined;
  }
  return { authority, first, second };
}

async function served({ pemFile }: Certificate, name: string) {
  const pem = join(directory, `${name}.served`);
  await copyFile(pemFile, pem);
  return { pem, clientCa: undefined };
}

async function serving(context: TestContext, tls: CertificateFiles): Promise<TestServer> {
  const it = await startTestServer(routes, { tls });
  context.after(() => it.close());
  return it;
}

interface Answer {
  readonly text: string;
  /** Common name of the server's certificate; empty for a resumed session. */
  readonly subject: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

async function ask(it: TestServer, path: string, options: RequestOptions = {}): Promise<Answer> {
  const agent = options.agent ?? new Agent({ maxCachedSessions: 0 });
  const sent = request({ host: '127.0.0.1', port: it.server.port, path, ...options, agent });
  sent.end();
  const [answer] = (await once(sent, 'response')) as [NodeJS.ReadableStream & { headers: Answer['headers'] }];
  const subject = (sent.socket as TLSSocket).getPeerCertificate().subject?.CN;
  let text = '';
  for await (const piece of answer.setEncoding('utf8')) text += String(piece);
  return { text, subject: String(subject), headers: answer.headers };
}

test('TLS 1.2 and 1.3 are served, and nothing older', async (context) => {
  const certificates = made(context);
  if (certificates === undefined) return;
  const { authority, first } = certificates;
  const it = await serving(context, await served(first, 'versions'));
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const { text, headers } = await ask(it, '/show', {
      ca: authority.cert,
      minVersion: version,
      maxVersion: version,
    });
    assert.deepEqual(JSON.parse(text), { secure: true, certified: false });
    assert.match(String(headers['strict-transport-security']), /^max-age=\d+$/);
  }
  const old = {
    ca: authority.cert,
    minVersion: 'TLSv1.1',
    maxVersion: 'TLSv1.1',
    ciphers: 'ALL:@SECLEVEL=0',
  };
  await assert.rejects(ask(it, '/show', old as RequestOptions), /protocol version/);
  const weak = { ca: authority.cert, maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256' };
  await assert.rejects(ask(it, '/show', weak as RequestOptions), /handshake failure/);
});

test('a new certificate is served to new connections, and no request of others fails', async (context) => {
  const certificates = made(context);
  if (certificates === undefined) return;
  const { authority, first, second } = certificates;
  const files = await served(first, 'reload');
  const it = await serving(context, files);
  const kept = new Agent({ keepAlive: true, maxSockets: 1, ca: authority.cert });
  assert.equal((await ask(it, '/show', { agent: kept })).subject, 'first');
  let asked = 0;
  const over = new AbortController();
  const subjects = new Set<string>();
  const load = Array.from({ length: 6 }, async (_, index) => {
    const agent = index < 3 ? new Agent({ keepAlive: true, maxSockets: 1, ca: authority.cert }) : undefined;
    while (!over.signal.aborted) {
      subjects.add((await ask(it, '/show', { ca: authority.cert, ...(agent && { agent }) })).subject);
      asked++;
    }
    agent?.destroy();
  });
  const answered = (more: number) => {
    const before = asked;
    return eventually('requests to be answered', async () => (asked >= before + more ? true : undefined));
  };
  for (const next of [second, first, second]) {
    await answered(20);
    await copyFile(next.pemFile, files.pem);
    it.server.replaceCertificate();
  }
  await answered(20);
  over.abort();
  await Promise.all(load);
  assert.deepEqual([...subjects].toSorted(), ['first', 'second']);
  assert.equal((await ask(it, '/show', { ca: authority.cert })).subject, 'second');
  // The earlier connection continues.
  assert.equal((await ask(it, '/show', { agent: kept })).subject, 'first');
  kept.destroy();
});

test('unusable files keep the old certificate, with one log line and a metric', async (context) => {
  const certificates = made(context);
  if (certificates === undefined) return;
  const { first, second } = certificates;
  const files = await served(first, 'watched');
  const logged: LoggedLine[] = [];
  const replaced: string[] = [];
  const replace = ({ fingerprint }: { readonly fingerprint: string }) => void replaced.push(fingerprint);
  const watch = await CertificateWatch.start({ files, log: recordingLogger(logged), replace, lookMs: 5 });
  context.after(() => watch.stop());
  const metric = async (name: string) =>
    Number(new RegExp(`^${name} (.*)$`, 'm').exec(await renderMetrics())?.[1]);
  const refused = (words: RegExp) =>
    eventually('the files to be refused', async () => {
      const found = logged.filter(
        ({ level, facts }) => level === 'error' && words.test(String(facts['error'])),
      );
      return found.length > 0 ? found.length : undefined;
    });
  const { endsMs, fingerprint } = certificateFacts({ ...first, clientCa: undefined });
  assert.equal(await metric('auditlog_tls_certificate_expiry_timestamp_seconds'), endsMs / 1000);
  assert.equal(await metric('auditlog_tls_certificate_refused'), 0);
  await writeFile(files.pem, `${second.cert}${first.key}`);
  await refused(/do not belong together/);
  assert.equal(await metric('auditlog_tls_certificate_refused'), 1);
  await delay(50);
  assert.equal(await refused(/do not belong together/), 1);
  await writeFile(files.pem, 'nonsense');
  await refused(/the certificate cannot be read/);
  await rm(files.pem);
  await refused(/ENOENT/);
  assert.equal(watch.served.fingerprint, fingerprint);
  assert.deepEqual(replaced, []);
  await copyFile(second.pemFile, files.pem);
  await eventually('the new one to be served', async () => (replaced.length > 0 ? true : undefined));
  assert.deepEqual(replaced, [certificateFacts({ ...second, clientCa: undefined }).fingerprint]);
  await eventually('the metric', async () =>
    (await metric('auditlog_tls_certificate_refused')) === 0 ? true : undefined,
  );
  assert.doesNotMatch(JSON.stringify(logged), /PRIVATE|nonsense/);
});

test('of a client that shows a certificate the server knows that it did, and a foreign one ends the handshake', async (context) => {
  const certificates = made(context);
  if (certificates === undefined) return;
  const { authority, first, second } = certificates;
  const foreign = await (await makeAuthority(directory, 'foreign'))?.issue('stranger');
  const tls = { ...(await served(first, 'mutual')), clientCa: join(directory, 'authority.pem') };
  const it = await serving(context, tls);
  const { cert, key } = second;
  const certified = async (options: RequestOptions) =>
    (JSON.parse((await ask(it, '/show', { ca: authority.cert, ...options })).text) as { certified: boolean })
      .certified;
  assert.equal(await certified({ cert, key }), true);
  assert.equal(await certified({}), false);
  const resumed = new Agent({ ca: authority.cert, cert, key });
  assert.equal(await certified({ agent: resumed }), true);
  assert.equal(await certified({ agent: resumed }), true);
  await assert.rejects(certified({ cert: foreign?.cert, key: foreign?.key }), /unknown ca|ECONNRESET/);
});

test('a stream reaches a reader that stutters as it is, and its connection serves the next request', async (context) => {
  const certificates = made(context);
  if (certificates === undefined) return;
  const { authority, first } = certificates;
  const it = await serving(context, await served(first, 'stream'));
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: authority.cert });
  const sent = request({ host: '127.0.0.1', port: it.server.port, path: '/noise', agent });
  sent.end();
  const [answer] = (await once(sent, 'response')) as [AsyncIterable<Buffer>];
  const hash = createHash('sha256');
  let pieces = 0;
  for await (const piece of answer) {
    hash.update(piece);
    if (pieces++ % 50 === 0) await delay(2);
  }
  assert.equal(hash.digest('hex'), createHash('sha256').update(noise).digest('hex'));
  const used = sent.socket;
  const next = request({ host: '127.0.0.1', port: it.server.port, path: '/show', agent });
  next.end();
  await once(next, 'response');
  assert.equal(next.socket, used);
  agent.destroy();
});
