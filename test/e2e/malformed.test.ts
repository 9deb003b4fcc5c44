import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { afterEach, before, describe, test } from 'node:test';
import { acceptedOf, problemOf } from '../support/http.ts';
import { createTenant, sourceEvent, type Tenant, type SharedServer } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';

let server: SharedServer;
let tenant: Tenant;

before(async () => {
  server = await sharedServer();
  tenant = await createTenant(server, 'malformed');
});

/** How many events of a flow must be readable at the end of a test: one wait for all that it sent. */
const stored = new Map<string, number>();

// Whatever a test sends, the very same process answers the next request.
afterEach(async () => {
  for (const [flowId, count] of stored) await tenant.settled(count, { flowId });
  stored.clear();
  assert.equal((await tenant.get('limit=1')).status, 200);
  assert.ok(!server.stderrLines().some((line) => /"level":60|unhandled|uncaught/i.test(line)));
});

/** Text of an event with this raw JSON as a value of its `extra`. */
const withExtra = (flow: string, raw: string) =>
  `{"message":{"timestamp":"2024-01-01T00:00:00Z","action":1,"flow_id":"${flow}","extra":{"x":${raw}}}}`;

/**
 * Sends a doubtful event between two good ones. Whatever is decided about it, the good ones are stored, the answer
 * tells the truth, and what is stored can be read as JSON.
 */
async function amongGood(
  event: string | Buffer,
  form: 'json' | 'ndjson',
  flow = randomUUID(),
): Promise<boolean> {
  const good = JSON.stringify(sourceEvent({ flow_id: flow }));
  const [open, separator, close] = form === 'json' ? ['[', ',', ']'] : ['', '\n', '\n'];
  const body = Buffer.concat([
    Buffer.from(`${open}${good}${separator}`),
    Buffer.from(event),
    Buffer.from(`${separator}${good}${close}`),
  ]);
  const type = form === 'json' ? 'application/json' : 'application/x-ndjson';
  const answer = acceptedOf(await tenant.post(body, { 'content-type': type }));
  assert.equal(answer.accepted + answer.rejected, 3);
  assert.ok(answer.accepted >= 2);
  if (answer.rejected === 1) assert.equal(answer.errors[0]?.index, 1);
  stored.set(flow, answer.accepted);
  return answer.accepted === 3;
}

describe('events', () => {
  test('bytes that are not UTF-8 are refused, alone in their line', async () => {
    for (const bytes of [
      [0xff],
      [0xc3],
      [0xed, 0xa0, 0x80],
      [0xf5, 0x80, 0x80, 0x80],
      [0xc0, 0xaf],
      [0x80],
    ]) {
      const flow = randomUUID();
      const [head, tail] = withExtra(flow, '"~"').split('~');
      const event = Buffer.concat([Buffer.from(head ?? ''), Buffer.from(bytes), Buffer.from(tail ?? '')]);
      assert.equal(await amongGood(event, 'ndjson', flow), false, String(bytes));
      problemOf(await tenant.post(event), 400);
    }
  });
});
