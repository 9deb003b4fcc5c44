import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { acceptedOf, type AuditEvent, pageOf } from '../support/http.ts';
import {
  createTenant,
  sourceEvent,
  type SharedServer,
  type Tenant,
  untilReadable,
} from '../support/server.ts';
import { productNames, sharedServer } from '../support/shared.ts';

let server: SharedServer;
let tenant: Tenant;

before(async () => {
  server = await sharedServer();
  tenant = await createTenant(server, 'fields');
});

/** The audit event that a source event becomes; `raw` is its text inside the page. */
async function rendered(event: object | string): Promise<{ event: AuditEvent; raw: string }> {
  const flow = randomUUID();
  const text = typeof event === 'string' ? event : JSON.stringify(event);
  // The event is found by a file hash, so that events without a flow can be looked at too.
  const tagged = text.replace('"message":{', `"message":{"sender":{"hash":"${flow}"},`);
  assert.notEqual(tagged, text);
  assert.deepEqual(acceptedOf(await tenant.post(tagged)), { accepted: 1, rejected: 0, errors: [] });
  return untilReadable('the event to be readable', async () => {
    const answer = await tenant.get({ fileHash: flow });
    const [found] = pageOf(answer).data;
    return found && { event: found, raw: answer.text };
  });
}

const render = async (event: object | string) => (await rendered(event)).event;

/** Tests beside each other: their events reach the engine together, which takes as long as one. */
const together = { concurrency: true };

describe('the least and the most an event can say', together, () => {
  test('an event with nothing optional has exactly the members that are always there', async () => {
    const event = await render(sourceEvent({ action: 1001 }));
    assert.deepEqual(Object.keys(event).sort(), [
      'activity_id',
      'activity_name',
      'actor',
      'category_name',
      'category_uid',
      'class_name',
      'class_uid',
      'message',
      'metadata',
      'severity',
      'severity_id',
      'status',
      'status_id',
      'time',
      'type_uid',
    ]);
    assert.deepEqual(event.actor, { app_name: productNames.APP_NAME });
    assert.deepEqual(Object.keys(event.metadata).sort(), ['logged_time', 'product', 'version']);
  });

  test('an event with everything', async () => {
    const flow = randomUUID();
    const before = Date.now() * 1000;
    const source = {
      time: '2024-05-06T07:08:10Z',
      level: 'WARN',
      msg: 'Ana uploaded a report',
      message: {
        timestamp: '2024-05-06T09:08:09.123456789+02:00',
        actor: { id: 'u-17', name: 'Ana Díaz', email: 'Ana@Acme.example', type: 'User' },
        action: { code: 2001, title: 'Report uploaded' },
        target: { id: 't-1', name: 'Q1 – Bericht.pdf', type: 'file' },
        result: { title: 'Done', description: 'stored', code: 403, detail: 'quota nearly used up' },
        remote: { ip: '2001:db8::7', port: 51_234 },
        extra: { fileName: 'Q1 – Bericht.pdf', fileSize: 48_213, ok: true },
        flow_id: flow,
        log: { provider: 'edge-3', version: '2.4' },
      },
    };
    const { logged_time: loggedTime, ...metadata } = (await render(source)).metadata;
    const event = await render(source);
    assert.ok(loggedTime >= before && loggedTime <= (Date.now() + 1) * 1000);
    assert.deepEqual(
      { ...event, metadata },
      {
        category_name: 'Audit',
        category_uid: 3,
        class_name: 'Application Activity',
        class_uid: 3001,
        type_uid: 300101,
        time: Date.UTC(2024, 4, 6, 7, 8, 9) * 1000 + 123_456,
        activity_id: 2001,
        activity_name: 'Report uploaded',
        severity: 'Medium',
        severity_id: 3,
        status: 'Failure',
        status_id: 2,
        status_detail: 'quota nearly used up',
        message: 'Ana uploaded a report',
        actor: {
          user: { name: 'Ana Díaz', email_addr: 'Ana@Acme.example', type: 'User' },
          app_name: productNames.APP_NAME,
        },
        src_endpoint: { ip: '2001:db8::7', port: 51_234 },
        flow_id: flow,
        enrichments: [
          { name: 'fileName', value: 'Q1 – Bericht.pdf' },
          { name: 'fileSize', value: '48213' },
          { name: 'ok', value: 'true' },
        ],
        extra_map: { fileName: 'Q1 – Bericht.pdf', fileSize: 48_213, ok: true },
        metadata: {
          log_provider: 'edge-3',
          log_version: '2.4',
          product: { name: productNames.PRODUCT_NAME, vendor_name: productNames.VENDOR_NAME },
          version: '1.1.0',
        },
      },
    );
  });
});

describe('extra_map and enrichments', together, () => {
  test('numbers keep their digits', async () => {
    const digits =
      '{"big":12345678901234567890,"more":0.1000000000000000055511151231257827,"neg":-0,"e":1E5,"t":1.10}';
    const { event, raw } = await rendered(
      `{"message":{"timestamp":"2024-01-01T00:00:00Z","action":1,"extra":${digits}}}`,
    );
    assert.ok(raw.includes(digits), raw);
    assert.deepEqual(
      event.enrichments?.map((entry) => entry.value),
      ['12345678901234567890', '0.1000000000000000055511151231257827', '-0', '1E5', '1.10'],
    );
  });
});
