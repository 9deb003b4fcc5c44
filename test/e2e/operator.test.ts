import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { call } from '../support/http.ts';
import { createTenant, type SharedServer, type Tenant } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';

/** What operators may rely on below the API: engine.json, the table `events`, the view `ocsf_events`. */

let server: SharedServer;
let tenant: Tenant;

before(async () => {
  server = await sharedServer();
  tenant = await createTenant(server, 'operator');
});

/** Rows of a query, asked the way engine.json tells any ClickHouse client to. */
async function rowsOf(query: string): Promise<Record<string, string>[]> {
  const file = JSON.parse(await readFile(join(server.dataDir, 'engine.json'), 'utf8')) as {
    url: string;
    user: string;
    password: string;
    headers: Record<string, string>;
    database: string;
    pid: number;
  };
  assert.deepEqual(Object.keys(file).sort(), ['database', 'headers', 'password', 'pid', 'url', 'user']);
  assert.equal(file.database, 'audit');
  const answer = await call(`${file.url}/?database=${file.database}`, {
    method: 'POST',
    headers: { ...file.headers, 'x-clickhouse-user': file.user, 'x-clickhouse-key': file.password },
    body: `${query} FORMAT JSONEachRow`,
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, string>);
}

test("source is the producer's text without its whitespace: order, digits and unknown fields are kept", async () => {
  const flow = randomUUID();
  const text =
    `{ "zeta": 1.10, "message" : {"flow_id":"${flow}","action":{"code":2001,"unknown":[1E5,  12345678901234567890]},` +
    `"timestamp":"2024-01-01T00:00:00.123456789Z","extra":{"b":1,"a":"\\u00e9 é  two  spaces"}}, "alpha":null }`;
  await tenant.post(text);
  await tenant.settled(1, { flowId: flow });
  const [row] = await rowsOf(`SELECT org, toString(time) AS t, source FROM events WHERE flow_id = '${flow}'`);
  assert.equal(row?.['org'], tenant.organization.id);
  assert.equal(row?.['t'], '2024-01-01 00:00:00.123456');
  assert.equal(
    row?.['source'],
    `{"zeta":1.10,"message":{"flow_id":"${flow}","action":{"code":2001,"unknown":[1E5,12345678901234567890]},` +
      '"timestamp":"2024-01-01T00:00:00.123456789Z","extra":{"b":1,"a":"\\u00e9 é  two  spaces"}},"alpha":null}',
  );
});
