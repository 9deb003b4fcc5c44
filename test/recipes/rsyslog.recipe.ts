import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { rounds } from '../support/rounds.ts';
import { documentText } from '../support/markdown.ts';
import { fill } from './page.ts';
import {
  findProgram,
  freePort,
  holdThroughKills,
  sendLines,
  Service,
  startProgram,
  untilListening,
} from './support.ts';

const total = rounds(3_000, 20_000);
const program = findProgram('rsyslogd', 'RSYSLOGD');
const skip = program === undefined && 'rsyslogd is not installed: RSYSLOGD may name it';

test(`rsyslog: ${total} messages over kills and silence, each once; what is refused is told`, {
  skip,
}, async () => {
  const folder = await temporaryDirectory();
  const [port, input] = [await freePort(), await freePort()];
  const service = new Service(join(folder, 'data'), port);
  await service.start();
  await mkdir(join(folder, 'spool'));
  await writeFile(join(folder, 'audit.key'), `${service.tenant.key}\n`, { mode: 0o600 });
  await writeFile(join(folder, 'audit-send'), documentText('deploy/shippers/audit-send'), { mode: 0o700 });
  const config = fill(documentText('deploy/shippers/rsyslog.conf'), {
    'http://127.0.0.1:8080': service.server.url,
    'port="5514"': `port="${input}"`,
    '/usr/local/bin/audit-send': join(folder, 'audit-send'),
    '/etc/rsyslog.d/audit.key': join(folder, 'audit.key'),
    '/var/log/audit-send.log': join(folder, 'audit-send.log'),
    '/var/spool/rsyslog': join(folder, 'spool'),
  });
  await writeFile(join(folder, 'rsyslog.conf'), config);
  const files = ['-f', join(folder, 'rsyslog.conf'), '-i', join(folder, 'pid')];
  const shipper = startProgram([program ?? '', '-n', ...files], { output: join(folder, 'output') });
  try {
    await untilListening(input, shipper);
    const lines = Array.from({ length: total }, (_, n) => `<13>Mar  1 10:00:00 host app[7]: message ${n}`);
    // Bytes that are not UTF-8, which rsyslog passes on.
    await sendLines(input, ['<11>Mar  1 10:00:00 host app[7]: caf\u00e9', ...lines]);
    await holdThroughKills(service, total, 8_000);
    assert.match(readFileSync(join(folder, 'audit-send.log'), 'utf8'), /^dropped, 400: .*UTF-8.*caf/m);
  } catch (error) {
    throw new Error(readFileSync(join(folder, 'output'), 'utf8').slice(-3000), { cause: error });
  } finally {
    await shipper.stop('SIGKILL');
    await service.stop();
    await removeDirectory(folder);
  }
});
