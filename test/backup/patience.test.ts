import { strict as assert } from 'node:assert';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { beforeEach, mock, test } from 'node:test';
import { limits } from '../../src/backup/limits.ts';
import { patiently } from '../../src/backup/patience.ts';
import { S3Place } from '../../src/backup/s3-place.ts';
import { EngineError } from '../../src/base/errors/engine-error.ts';

/** Time that has passed beside that of the clock. */
let passedMs = 0;
const { now } = performance;
mock.method(performance, 'now', () => now.call(performance) + passedMs);
beforeEach(() => {
  passedMs = 0;
});

test('an engine that goes away after hours of work is waited for as long as any other', async () => {
  const away = () => Promise.reject(new EngineError('unreachable', 'it was killed'));
  const done = await patiently((attempt) => {
    if (attempt === 0) passedMs += 3_600_000;
    return attempt < 2 ? away() : Promise.resolve(attempt);
  });
  assert.equal(done, 2);
  const given = patiently(() => {
    passedMs += limits.restoreRetryMsMax + 1;
    return away();
  });
  await assert.rejects(given, /it was killed/);
});

test('a bucket that has not answered a request in its time is asked again', async (t) => {
  let asked = 0;
  const bucket = createServer((request, response) => {
    asked += 1;
    request.resume();
    if (asked > 1) return response.end();
    passedMs += limits.backupRequestMsMax;
    return request.socket.destroy();
  }).listen(0, '127.0.0.1');
  t.after(() => bucket.close());
  await once(bucket, 'listening');
  const place = new S3Place({
    endpoint: new URL(`http://127.0.0.1:${(bucket.address() as AddressInfo).port}`),
    region: 'us-east-1',
    bucket: 'events',
    prefix: '',
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
  });
  await place.put('20260101T000000Z-00000000', 'file', Buffer.from('content'));
  assert.equal(asked, 2);
});
