import { strict as assert } from 'node:assert';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { unzip, zip } from '../../src/base/bytes/zip.ts';
import { call, eventually, problemOf } from '../support/http.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createTenant, type SharedServer, sourceEvent, type Tenant } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';
import { verifyOn } from '../support/verification.ts';

let server: SharedServer;
let tenant: Tenant;
let directory: string;
let key: string;
/** The case of the five events of one actor, as the service made it. */
let files: Map<string, Buffer>;

const bytesMax = 100_000_000;
const query = 'actor=Zo%C3%AB%40acme.example&startTime=2026-05-01T00:00:00Z';
const ndjson = { 'content-type': 'application/x-ndjson' };

const ask = (what: string) =>
  call(`${server.url}/api/v1/audit/evidence/${what}`, { headers: { 'x-api-key': tenant.key } });

before(async () => {
  server = await sharedServer();
  directory = await temporaryDirectory();
  tenant = await createTenant(server, 'case-file');
  const events = Array.from({ length: 5 }, (_, n) =>
    sourceEvent({
      timestamp: Date.parse('2026-05-04T00:00:00Z') * 1000 + n,
      actor: { name: 'Zoë "Z"', email: 'zoë@acme.example' },
      extra: { n, text: '"logged_time":1,"product":{' },
    }),
  );
  const others = Array.from({ length: 1_001 }, () => sourceEvent({ action: 2001 }));
  const body = [...events, ...others].map((one) => JSON.stringify(one)).join('\n');
  assert.equal((await tenant.post(body, ndjson)).status, 202);
  await tenant.settled(events.length, { actor: 'Zoë@acme.example' });
  key = await eventually('a key', async () => {
    const { keys } = JSON.parse((await ask('key')).text) as { keys: { key: string }[] };
    return keys[0]?.key;
  });
});
after(() => removeDirectory(directory));

/** Verifies files as a case, with the key of the log. */
async function verified(name: string, changed: ReadonlyMap<string, Buffer>, by = key) {
  const path = join(directory, `${name}.zip`);
  const list = Array.from(changed, ([file, bytes]) => ({ name: file, bytes }));
  writeFileSync(path, await zip(list, Date.now()));
  return verifyOn(server, [path, '--key', by]);
}

const linesOf = (name: string) => (files.get(name)?.toString() ?? '').trimEnd().split('\n');
const withLines = (name: string, lines: readonly string[]) =>
  new Map(files).set(name, Buffer.from(lines.map((line) => `${line}\n`).join('')));

describe('a case file', () => {
  test('is refused with the time to wait until a checkpoint covers its events, and then made by the command', async () => {
    const early = await ask(`case?${query}`);
    if (early.status === 503) {
      const { evidence } = JSON.parse(early.text) as { evidence: string };
      assert.equal(evidence, 'pending');
      assert.ok(Number(early.headers['retry-after']) >= 1);
    }
    const path = join(directory, 'finding.zip');
    const options = ['--start-time', '2026-05-01T00:00:00Z', '--actor', 'Zoë@acme.example', '--json'];
    const keyFile = join(directory, 'api-key');
    writeFileSync(keyFile, tenant.key);
    const command = ['export', '--url', server.url, '--key-file', keyFile, '--case', path];
    const { code, stdout, stderr } = await server.cliHere([...command, ...options]);
    assert.equal(code, 0, stderr);
    assert.equal((JSON.parse(stdout) as { rows: number }).rows, 5);
    const report = await verifyOn(server, [path, '--key', key]);
    assert.deepEqual([report.code, report.events, report.findings], [0, 5, []]);
  });

  test('has the events as shown, independent proofs, and its request', async () => {
    const answer = await fetch(`${server.url}/api/v1/audit/evidence/case?${query}`, {
      headers: { 'x-api-key': tenant.key },
    });
    assert.equal(answer.status, 200);
    assert.match(
      answer.headers.get('content-disposition') ?? '',
      /^attachment; filename="case-case-file-\d{8}T\d{6}Z\.zip"$/,
    );
    files = await unzip(Buffer.from(await answer.arrayBuffer()), bytesMax);
    const head = JSON.parse(files.get('case.json')?.toString() ?? '') as Record<string, unknown>;
    assert.equal(head['events'], 5);
    assert.deepEqual(head['filters'], { actor: 'Zoë@acme.example', startTime: '2026-05-01T00:00:00Z' });
    assert.equal(
      head['link'],
      `${server.url}/#/events?from=2026-05-01T00%3A00%3A00Z&actor=Zo%C3%AB%40acme.example`,
    );
    const page = await call(`${server.url}/api/v1/audit?${query}`, { headers: { 'x-api-key': tenant.key } });
    const withoutTime = (text: string) => text.replaceAll(/"logged_time":\d+,"product"/g, '"product"');
    const shown = (JSON.parse(withoutTime(page.text)) as { data: unknown[] }).data;
    assert.deepEqual(
      linesOf('events.ndjson').map((line) => JSON.parse(withoutTime(line)) as unknown),
      shown,
    );
    const proof = join(directory, 'proof.json');
    writeFileSync(proof, linesOf('proofs.ndjson')[2] ?? '');
    assert.equal((await verifyOn(server, [proof, '--key', key])).code, 0);
    const unpacked = join(directory, 'unpacked');
    mkdirSync(unpacked);
    for (const [name, bytes] of files) writeFileSync(join(unpacked, name), bytes);
    assert.equal((await verifyOn(server, [unpacked, '--key', key])).code, 0);
  });

  test('is recorded as an export with its filters', async () => {
    const recorded = await eventually('the export', async () => {
      const { text } = await call(`${server.url}/api/v1/audit?activity=2030`, {
        headers: { 'x-api-key': tenant.key },
      });
      const { data } = JSON.parse(text) as { data: { extra_map: Record<string, unknown> }[] };
      return data.length >= 2 ? data[0]?.extra_map : undefined;
    });
    const filters = { actor: 'Zoë@acme.example', startTime: '2026-05-01T00:00:00Z' };
    assert.deepEqual(recorded, { format: 'case', filters, events: 5 });
  });

  test('names an event that was altered, removed, added or moved', async () => {
    const lines = linesOf('events.ndjson');
    const [first = '', second = '', ...others] = lines;
    const altered = second.replace('Zo', 'Bo');
    const kinds = async (name: string, changed: ReadonlyMap<string, Buffer>) => {
      const { code, findings } = await verified(name, changed);
      assert.equal(code, 1);
      return findings.map(({ kind, detail }) => `${kind}: ${detail}`);
    };
    const isSecond = /\(2026-05-04T00:00:00\.000003Z, order number \d+\)/;
    const [change, ...more] = await kinds('altered', withLines('events.ndjson', [first, altered, ...others]));
    assert.match(change ?? '', /^altered: .* is not what was recorded$/);
    assert.match(change ?? '', isSecond);
    assert.deepEqual(more, []);
    const [removal, ...none] = await kinds('removed', withLines('events.ndjson', [first, ...others]));
    assert.match(removal ?? '', /^missing: .* was taken out of the case$/);
    assert.match(removal ?? '', isSecond);
    assert.deepEqual(none, []);
    assert.deepEqual(await kinds('added', withLines('events.ndjson', [first, second, altered, ...others])), [
      'added: line 3 of events.ndjson (2026-05-04T00:00:00.000003Z) was put in afterwards',
    ]);
    assert.deepEqual(await kinds('moved', withLines('events.ndjson', [second, first, ...others])), [
      'moved: line 1 of events.ndjson (2026-05-04T00:00:00.000003Z) is not in its order',
    ]);
  });

  test('shows that an event was removed from all its files, or that a source, a proof or a key differs', async () => {
    const kinds = async (name: string, changed: ReadonlyMap<string, Buffer>) =>
      (await verified(name, changed)).findings.map(({ kind }) => kind);
    const proofs = linesOf('proofs.ndjson');
    const without = withLines('events.ndjson', linesOf('events.ndjson').slice(1));
    without.set(
      'proofs.ndjson',
      withLines('proofs.ndjson', proofs.slice(1)).get('proofs.ndjson') ?? Buffer.alloc(0),
    );
    assert.deepEqual(await kinds('without-proof', without), ['unproven']);
    const head = JSON.parse(files.get('case.json')?.toString() ?? '') as { places: number[] };
    without.set('case.json', Buffer.from(JSON.stringify({ ...head, places: head.places.slice(1) })));
    assert.deepEqual(await kinds('all-files', without), ['unproven']);
    const [first = '', ...others] = proofs;
    const otherSource = first.replace('Zoë', 'Boë');
    assert.deepEqual(await kinds('source', withLines('proofs.ndjson', [otherSource, ...others])), [
      'altered',
    ]);
    const { position } = JSON.parse(first) as { position: number };
    const otherPlace = first.replace(`index ${position}\\n`, `index ${position - 1}\\n`);
    assert.deepEqual((await kinds('place', withLines('proofs.ndjson', [otherPlace, ...others]))).toSorted(), [
      'contradicted',
      'unproven',
    ]);
    const forged = 'service/x+56f59001+AYF2ZJcNgVoQYtnwv84jnnvZVVx7IoGLYrBqOZi1hLcW';
    const { code } = await server.cliHere(['verify', join(directory, 'finding.zip'), '--key', forged]);
    assert.equal(code, 1);
  });

  test('has a limit that its refusal names, and one form', async () => {
    const many = await ask('case?activity=2001');
    assert.match(
      problemOf(many, 400).detail ?? '',
      /^1,006 events match, and a case file has at most 1,000 events/,
    );
    const path = join(directory, 'x.zip');
    for (const args of [
      ['--case', path, '--format', 'csv', '--url', server.url],
      ['--case', path, '--org', 'case-file'],
      ['--case', 'x.ndjson', '--url', server.url],
    ])
      assert.equal((await server.cliHere(['export', ...args])).code, 2);
  });
});
