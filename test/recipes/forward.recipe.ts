import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeAuthority } from '../support/certificates.ts';
import { eventually } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { sourceEvent } from '../support/server.ts';
import { documentText } from '../support/markdown.ts';
import { fill } from './page.ts';
import { findProgram, freePort, Service, startSyslogNg, untilListening } from './support.ts';

const program = findProgram('syslog-ng', 'SYSLOG_NG');
const skip = program === undefined && 'syslog-ng is not installed: SYSLOG_NG may name it';
const total = 2000;

test('forward to syslog-ng over TLS: each event once, in order, none cut', { skip }, async (t) => {
  const folder = await temporaryDirectory();
  const authority = await makeAuthority(folder);
  if (authority === undefined) return t.skip('openssl, which makes the certificate, is not here');
  const own = await authority.issue('syslog');
  const [port, input] = [await freePort(), await freePort()];
  const service = new Service(join(folder, 'data'), port);
  await service.start();
  const config = fill(documentText('deploy/shippers/syslog-ng-receiver.conf'), {
    'ip(0.0.0.0) port(6514)': `ip(127.0.0.1) port(${input})`,
    '/etc/syslog-ng/cert.pem': own.certFile,
    '/etc/syslog-ng/key.pem': own.keyFile,
    '/var/log/audit.log': join(folder, 'audit.log'),
  });
  await writeFile(join(folder, 'syslog-ng.conf'), config);
  const receiver = startSyslogNg(program ?? '', folder);
  try {
    await untilListening(input, receiver);
    const events = Array.from({ length: total }, (_, n) =>
      sourceEvent({
        timestamp: 1_700_000_000_000_000 + n,
        extra: { n, long: 'x'.repeat(n === 7 ? 100_000 : 10) },
      }),
    );
    await service.tenant.record(events);
    await service.tenant.caughtUp();
    const keyFile = join(folder, 'api-key');
    await writeFile(keyFile, service.tenant.key, { mode: 0o600 });
    const to = ['--to', `syslog+tls://127.0.0.1:${input}`, '--ca', authority.certFile];
    const from = [
      '--url',
      service.server.url,
      '--key-file',
      keyFile,
      '--once',
      '--checkpoint',
      join(folder, 'at'),
    ];
    const forwarded = await service.server.cli(['forward', ...from, ...to]);
    assert.equal(forwarded.code, 0, forwarded.stderr);
    const places = await eventually('syslog-ng to write', async () => {
      const lines = readFileSync(join(folder, 'audit.log'), 'utf8').split('\n').slice(0, -1);
      const found = lines.map((line) => (JSON.parse(line) as { extra_map?: { n?: number } }).extra_map?.n);
      const ours = found.filter((n) => n !== undefined);
      return ours.length >= total ? ours : undefined;
    });
    assert.deepEqual(
      places,
      Array.from({ length: total }, (_, n) => n),
    );
  } catch (error) {
    throw new Error(readFileSync(join(folder, 'output'), 'utf8').slice(-3000), { cause: error });
  } finally {
    await receiver.stop('SIGKILL');
    await service.stop();
    await removeDirectory(folder);
  }
});
