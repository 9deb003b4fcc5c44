import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, type RequestOptions, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Authority, type Certificate, makeAuthority } from '../support/certificates.ts';
import { eventually } from '../support/http.ts';
import {
  createOrganization,
  type Key,
  printed,
  runCli,
  sourceEvent,
  startServer,
  type TestServer,
} from '../support/server.ts';
import { createUser, password } from './session-support.ts';

const directory = await mkdtemp(join(tmpdir(), 'auditlog-tls-'));
const authority = await makeAuthority(directory);
const skip = authority === undefined && 'openssl is not installed';

describe('a service with TLS', { skip }, () => {
  let it: TestServer;
  let shown: Certificate;
  let agent: Agent;

  before(async () => {
    const { issue, certFile, cert } = authority as Authority;
    shown = await issue('producer');
    const { pemFile } = await issue('first');
    agent = new Agent({ ca: cert, keepAlive: true, maxCachedSessions: 0 });
    it = await startServer({
      env: { TLS_CERT: pemFile, TLS_CLIENT_CA: certFile },
    });
    await createOrganization(it, 'tls');
  });
  after(async () => {
    agent?.destroy();
    await it?.stop();
    await rm(directory, { recursive: true });
  });

  async function ask(path: string, options: RequestOptions = {}, body = '') {
    const sent = request({ host: '127.0.0.1', port: it.port, path, agent, ...options });
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [
      AsyncIterable<Buffer> & { statusCode: number; headers: Record<string, string | string[]> },
    ];
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece);
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text: Buffer.concat(pieces).toString('utf8'),
    };
  }

  const newKey = async () => {
    const args = ['key', 'create', '--org', 'tls', '--scopes', 'read,write', '--json'];
    return (printed(await it.cliHere(args)) as Key).key;
  };

  test('a local import trusts its certificate, for any host, and shows a client certificate; export over TLS is complete', async () => {
    const file = join(directory, 'events.ndjson');
    const events = Array.from({ length: 3000 }, (_, i) =>
      JSON.stringify(sourceEvent({}, { msg: `event ${i}` })),
    );
    await writeFile(file, events.join('\n'));
    const own = ['--cert', shown.certFile, '--cert-key', shown.keyFile];
    const without = await it.cliHere(['import', file, '--org', 'tls', '--json']);
    assert.match(without.stderr, /certificate/);
    assert.equal(without.code, 1);
    const answer = printed(await it.cliHere(['import', file, '--org', 'tls', '--restart', '--json', ...own]));
    assert.equal((answer as { accepted: number }).accepted, 3000);
    const key = await newKey();
    const certified = { cert: shown.cert, key: shown.key, headers: { 'x-api-key': key } };
    const path =
      '/api/v1/audit/export?format=ndjson&startTime=2024-05-06T00:00:00Z&endTime=2024-05-07T00:00:00Z';
    const lines = await eventually('the events to be exported', async () => {
      const { status, text } = await ask(path, certified);
      const found = text.split('\n').filter((line) => line !== '');
      return status === 200 && found.length === 3000 ? found : undefined;
    });
    assert.equal(new Set(lines).size, 3000);
    // By name and authority, as from another machine.
    const remote = [
      '--url',
      `https://localhost:${it.port}`,
      '--ca',
      (authority as Authority).certFile,
      ...own,
    ];
    const env = { AUDITLOG_API_KEY: key };
    // Without the authority it fails at once instead of retrying for ten minutes.
    const unknown = ['import', file, '--restart', '--url', `https://localhost:${it.port}`, ...own];
    const refused = await runCli(unknown, { dataDir: it.dataDir, env });
    assert.match(refused.stderr, /cannot be trusted, or does not trust us \(--ca, --cert\): .*certificate/);
    assert.equal(refused.code, 1);
    const again = await runCli(['import', file, '--restart', '--json', ...remote], {
      dataDir: it.dataDir,
      env,
    });
    assert.equal((printed(again) as { accepted: number }).accepted, 3000);
    const forwarded = await runCli(['forward', '--once', ...remote], { dataDir: it.dataDir, env });
    assert.equal(forwarded.code, 0, forwarded.stderr);
    assert.ok(forwarded.stdout.split('\n').length >= 6000);
  });

  test('API keys need a certificate; people sign in without one, over a Secure cookie', async () => {
    const key = await newKey();
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const body = JSON.stringify(sourceEvent());
    const refused = await ask('/api/v1/audit', { method: 'POST', headers }, body);
    assert.equal(refused.status, 403);
    assert.match(refused.text, /certificate/);
    assert.equal((await ask('/api/v1/audit', { headers })).status, 401);
    const shows = { cert: shown.cert, key: shown.key, method: 'POST', headers };
    await eventually('the key to be known', async () =>
      (await ask('/api/v1/audit', shows, body)).status === 202 ? true : undefined,
    );
    const { email } = await createUser(it, 'tls', 'admin', 'admin@example.com');
    const origin = (scheme: string) => `${scheme}://127.0.0.1:${it.port}`;
    const signIn = (from: string) =>
      ask(
        '/api/v1/auth/login-handler',
        { method: 'POST', headers: { 'content-type': 'application/json', origin: from } },
        JSON.stringify({ email, password, organization: 'tls' }),
      );
    const { status, headers: given } = await eventually('the user to be known', async () => {
      const answer = await signIn(origin('https'));
      return answer.status === 401 ? undefined : answer;
    });
    assert.equal(status, 200);
    assert.match(String(given['set-cookie']), /; Secure/);
    assert.ok(given['strict-transport-security']);
    assert.equal((await signIn(origin('http'))).status, 403);
  });

  test('settings of TLS that do not fit end the start with exit code 2 and their names', async () => {
    const { certFile, keyFile, issue } = authority as Authority;
    const other = await issue('other');
    const mixedFile = join(directory, 'mixed.pem');
    await writeFile(mixedFile, `${other.cert}${(authority as Authority).key}`);
    const cases: readonly (readonly [env: Record<string, string>, words: RegExp])[] = [
      [{ TLS_CERT: certFile }, /TLS_CERT is .*: allowed is the path of a file/],
      [{ TLS_CERT: keyFile }, /TLS_CERT is .*: allowed is the path of a file/],
      [{ TLS_CERT: mixedFile }, /TLS_CERT is .*: the certificate and the key do not belong together/],
      [{ TLS_CLIENT_CA: certFile }, /TLS_CLIENT_CA is set: allowed is that with TLS_CERT/],
    ];
    const { loadConfig } = await import('../../src/config/config.ts');
    for (const [env, words] of cases) assert.throws(() => loadConfig(env), words);
    const [env] = cases[0] ?? [{}];
    assert.equal((await runCli(['serve'], { dataDir: join(directory, 'unused'), env })).code, 2);
  });
});
