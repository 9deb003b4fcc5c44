import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
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
  startSyslogNg,
  untilListening,
} from './support.ts';

const total = rounds(3_000, 20_000);
const program = findProgram('syslog-ng', 'SYSLOG_NG');
const skip = program === undefined && 'syslog-ng is not installed: SYSLOG_NG may name it';

test(`syslog-ng: ${total} messages over kills and silence, each once; what is refused is told`, {
  skip,
}, async () => {
  const folder = await temporaryDirectory();
  const [port, input] = [await freePort(), await freePort()];
  const service = new Service(join(folder, 'data'), port);
  await service.start();
  const config = fill(documentText('deploy/shippers/syslog-ng.conf'), {
    'http://127.0.0.1:8080': service.server.url,
    'port(5514)': `port(${input})`,
    ak_KEY: service.tenant.key,
    '/var/log/syslog-ng.log': join(folder, 'own.log'),
    '/var/lib/syslog-ng': folder,
  });
  await writeFile(join(folder, 'syslog-ng.conf'), config);
  const shipper = startSyslogNg(program ?? '', folder);
  try {
    await untilListening(input, shipper);
    const lines = Array.from({ length: total }, (_, n) => `<13>Mar  1 10:00:00 app[7]: message ${n}`);
    // The service refuses such a time.
    await sendLines(input, ['<11>2300-01-01T00:00:00+00:00 app[7]: too late', ...lines]);
    await holdThroughKills(service, total, 8_000);
    assert.match(readFileSync(join(folder, 'own.log'), 'utf8'), /drop[^]*400|400[^]*drop/i);
  } catch (error) {
    throw new Error(readFileSync(join(folder, 'output'), 'utf8').slice(-3000), { cause: error });
  } finally {
    await shipper.stop('SIGKILL');
    await service.stop();
    await removeDirectory(folder);
  }
});
