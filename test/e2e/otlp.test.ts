import { strict as assert } from 'node:assert';
import { before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { OTLPLogExporter as JsonExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPLogExporter as ProtobufExporter } from '@opentelemetry/exporter-logs-otlp-proto';
import { BatchLogRecordProcessor, LoggerProvider, type LogRecordExporter } from '@opentelemetry/sdk-logs';
import { validateEvent } from '../../src/ocsf/ocsf110/validate.ts';
import { type AuditEvent, call, type HttpAnswer } from '../support/http.ts';
import { createKey, createTenant, type SharedServer, type Tenant } from '../support/server.ts';
import { bodyBytesMax, sharedServer } from '../support/shared.ts';

/** Log records of OpenTelemetry (contract: OTLP), by the SDK's own exporters and by hand. */

let server: SharedServer;
let tenant: Tenant;

before(async () => {
  server = await sharedServer();
  tenant = await createTenant(server, 'otlp');
});

const json = 'application/json';
const protobuf = 'application/x-protobuf';

function post(
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<HttpAnswer> {
  const all = { 'x-api-key': tenant.key, 'content-type': json, ...headers };
  return call(`${server.url}/v1/logs`, { method: 'POST', headers: all, body });
}

/** An export of records that share a resource. */
const exported = (...logRecords: readonly object[]): string =>
  JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });

const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });

/** A record with an actor to find it by. */
const recordOf = (actor: string, more: object = {}) => ({
  timeUnixNano: '1717236000123456789',
  attributes: [attribute('actor', actor)],
  ...more,
});

/** Sends records like a program with the SDK: only endpoint and header are configured. */
async function send(exporter: LogRecordExporter, actor: string): Promise<void> {
  const provider = new LoggerProvider({ processors: [new BatchLogRecordProcessor({ exporter })] });
  const logger = provider.getLogger('checkout', '1.2.3');
  for (const [n, body] of ['Plan saved', { action: 'plan.share', with: ['ann', { deep: 1n }] }].entries())
    logger.emit({
      timestamp: new Date(1_717_236_000_000 + n),
      severityText: 'Warning',
      body: body as string,
      attributes: { actor, n, 'client.address': '203.0.113.7', token: 'secret', raw: new Uint8Array([1, 2]) },
    });
  await provider.forceFlush();
  await provider.shutdown();
}

const exporters: Record<string, (options: object) => LogRecordExporter> = {
  json: (options) => new JsonExporter(options),
  protobuf: (options) => new ProtobufExporter(options),
};

for (const [name, make] of Object.entries(exporters)) {
  test(`the exporter of the SDK for ${name} needs an endpoint and a header`, async () => {
    const actor = `${name}@otlp.example`;
    const headers = name === 'json' ? { 'X-API-Key': tenant.key } : { Authorization: `Bearer ${tenant.key}` };
    const compression = name === 'json' ? 'none' : 'gzip';
    await send(make({ url: `${server.url}/v1/logs`, headers, compression }), actor);
    const { data } = await tenant.settled(2, { actor });
    const [shared, saved] = data as [AuditEvent, AuditEvent];
    assert.deepEqual(
      [saved.time, saved.message, saved.severity],
      [1_717_236_000_000_000, 'Plan saved', 'Medium'],
    );
    assert.equal(shared.activity_name, 'plan.share');
    assert.deepEqual(saved.src_endpoint, { ip: '203.0.113.7' });
    const extra = saved.extra_map as Record<string, Record<string, unknown>>;
    assert.deepEqual(extra['scope'], { name: 'checkout', version: '1.2.3' });
    assert.ok(extra['resource']?.['attributes']);
    assert.deepEqual(extra['attributes'], {
      actor,
      n: 0,
      'client.address': '203.0.113.7',
      token: '[redacted]',
      raw: 'AQI=',
    });
    const standard = await tenant.page({ actor, schema: 'ocsf' });
    assert.equal(standard.data.length, 2);
    for (const event of standard.data) assert.deepEqual(validateEvent(event), []);
  });
}

test('an export is answered in its own encoding, whole, in part or not at all', async () => {
  const good = recordOf('part@otlp.example', { severityNumber: 9 });
  const part = await post(exported(good, { severityText: 'x' }, good, { body: {} }));
  assert.deepEqual(JSON.parse(part.text).partialSuccess.rejectedLogRecords, '2');
  assert.match(
    part.text,
    /2 of 4 log records were rejected: record 1: \/timeUnixNano: is required[^;]+; record 3: /,
  );
  await tenant.settled(2, { actor: 'part@otlp.example' });
  for (const [answer, body] of [
    [await post(exported(good)), '{}\n'],
    [await post('{}'), '{}\n'],
    [await post('', { 'content-type': protobuf }), ''],
    [await post(gzipSync(exported(good)), { 'content-encoding': 'gzip' }), '{}\n'],
  ] as const)
    assert.deepEqual([answer.status, answer.text], [200, body]);
  const refused = await post(new Uint8Array([1, 2, 3]), { 'content-type': protobuf });
  assert.deepEqual([refused.status, refused.headers['content-type']], [400, protobuf]);
  const status = new BinaryReader(refused.raw);
  assert.deepEqual([status.tag(), status.int32(), status.tag()], [[1, 0], 3, [2, 2]]);
  assert.match(status.string(), /^The body is not an ExportLogsServiceRequest of OTLP in protobuf: /);
});

test('exporters can act on refusals', async () => {
  const reader = await createKey(server, ['--org', 'otlp', '--scopes', 'read']);
  const limited = await createKey(server, ['--org', 'otlp', '--scopes', 'write', '--rate-limit', '2/600s']);
  const spent = async () => {
    for (let tries = 0; ; tries++) {
      const answer = await post('{}', { 'x-api-key': limited.key });
      if (answer.status !== 200 || tries > 3) return answer;
    }
  };
  const expected: readonly (readonly [status: number, code: number, answer: HttpAnswer])[] = [
    [400, 3, await post('{')],
    [401, 16, await post('{}', { 'x-api-key': 'ak_no' })],
    [403, 7, await post('{}', { 'x-api-key': reader.key })],
    [413, 3, await post(' '.repeat(bodyBytesMax + 1))],
    [415, 3, await post('{}', { 'content-type': 'text/plain' })],
    [415, 3, await post('{}', { 'content-encoding': 'lzma' })],
    [429, 8, await spent()],
  ];
  for (const [status, code, answer] of expected) {
    assert.equal(answer.status, status, answer.text);
    assert.equal((JSON.parse(answer.text) as { code: number }).code, code);
  }
  const retryAfter = expected.at(-1)?.[2].headers['retry-after'];
  assert.ok(Number(retryAfter) > 0, retryAfter);
  // A small body that becomes large with its resource at each record.
  const resource = { attributes: [attribute('large', 'x'.repeat(100_000))] };
  const logRecords = Array.from({ length: 1000 }, () => ({ timeUnixNano: '1717236000123456789' }));
  const large = await post(JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] }));
  assert.equal(large.status, 413, large.text);
});

test('with `Idempotency-Key: body` a repeated export is stored once', async () => {
  const body = exported(recordOf('once@otlp.example'));
  const headers = { 'idempotency-key': 'body' };
  for (const sent of [body, gzipSync(body)]) {
    const encoding = typeof sent === 'string' ? {} : { 'content-encoding': 'gzip' };
    assert.equal((await post(sent, { ...headers, ...encoding })).status, 200);
  }
  await tenant.caughtUp();
  assert.equal((await tenant.page({ actor: 'once@otlp.example' })).meta.total, 1);
});
