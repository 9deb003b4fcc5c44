import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { call, eventually } from '../support/http.ts';
import { keptService } from '../support/kept-service.ts';
import { createTenant, sourceEvent } from '../support/server.ts';

const service = keptService({ EVIDENCE_INTERVAL: '200ms' });

/** `verify` looks at 131,072 events at once: the tree ends in the second stretch, and grows over the end of that. */
const before = 200_000;
/** Far more than come in while that many are verified. */
const eventsMax = 3_000_000;
const perBody = 5_000;
/** Twice as fast as they are verified beside a server on two cores. */
const pauseMs = 300;

test('an organization that events come in for is verified while they do', async () => {
  const tenant = await createTenant(service.server, 'busy');
  const body = Array.from({ length: perBody }, (_, n) =>
    JSON.stringify(sourceEvent({ timestamp: 1_700_000_000_000_000 + n })),
  ).join('\n');
  const post = async () => {
    const answer = await tenant.post(body, { 'content-type': 'application/x-ndjson' });
    assert.equal(answer.status, 202, answer.text);
  };
  for (let sent = 0; sent < before; sent += perBody) await post();
  const headers = { 'x-api-key': tenant.key };
  const signed = async (): Promise<number> => {
    const answer = await call(`${tenant.server.url}/api/v1/audit/evidence/checkpoint`, { headers });
    return Number(answer.text.split('\n')[1]);
  };
  await eventually('a tree of those', async () => ((await signed()) >= before ? true : undefined));
  const verifying = service.server.cliHere(['verify', '--org', 'busy', '--json']);
  const verified = new AbortController();
  void verifying.finally(() => verified.abort());
  let events = before;
  for (; !verified.signal.aborted; events += perBody) {
    assert.ok(events < eventsMax, 'it goes on for as long as events come');
    await Promise.all([post(), sleep(pauseMs)]);
  }
  const { stdout, stderr } = await verifying;
  assert.deepEqual((JSON.parse(stdout) as { findings: readonly object[] }).findings, [], stderr);
  // It was not the end of it all: what came meanwhile is found by the next one.
  await eventually('a tree of all', async () => ((await signed()) >= events ? true : undefined));
  const again = ['verify', '--org', 'busy', '--full-speed', '--json'];
  const all = JSON.parse((await service.server.cliHere(again)).stdout) as {
    readonly events: number;
    readonly findings: readonly object[];
  };
  assert.deepEqual([all.findings, all.events >= events], [[], true]);
});
