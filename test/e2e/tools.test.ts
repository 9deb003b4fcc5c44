import { strict as assert } from 'node:assert';
import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { runTools } from '../../src/tools/program.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { call, eventually } from '../support/http.ts';
import { createTenant, sourceEvent, type SharedServer, type Tenant } from '../support/server.ts';
import { mappingsDir, sharedServer } from '../support/shared.ts';

/** The program without an engine, with only an address, a key and files. */

let directory = '';
let server: SharedServer;
let tenant: Tenant;
before(async () => {
  directory = await temporaryDirectory();
  server = await sharedServer();
  tenant = await createTenant(server, `tools-${randomUUID().slice(0, 8)}`);
});
after(() => removeDirectory(directory));

async function tools(args: readonly string[], key = tenant.key, mappings = mappingsDir) {
  const said = { out: '', error: '' };
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      said.out += chunk.toString();
      done();
    },
  });
  const code = await runTools(args, {
    environment: { AUDITLOG_API_KEY: key, MAPPINGS_DIR: mappings },
    io: {
      out: (text) => (said.out += text),
      error: (text) => (said.error += text),
      output,
      input: Readable.from([]),
    },
    untilStopped: () => new Promise(() => undefined),
  });
  return { code, ...said };
}

async function listening(answer: RequestListener): Promise<Server> {
  const made = createServer(answer).listen(0, '127.0.0.1');
  await once(made, 'listening');
  return made;
}

const actors = ['ann@acme.example', 'ben@acme.example', 'ann@acme.example'];

describe('auditlog-tools', () => {
  test('imports, and exports the answers of the endpoint', async () => {
    const file = join(directory, 'events.ndjson');
    const events = actors.map((actor) => JSON.stringify(sourceEvent({ actor })));
    writeFileSync(file, events.join('\n'));
    const imported = await tools(['import', file, '--url', server.url]);
    assert.match(imported.error, /^3 events imported/);
    assert.equal(imported.code, 0);
    await eventually('all are readable', async () => {
      const { out } = await tools(['export', '--url', server.url, '--format', 'json', '--activity', '2001']);
      return (JSON.parse(out) as unknown[]).length === 3 ? true : undefined;
    });

    const made = join(directory, 'ann.csv.gz');
    const exported = await tools([
      'export',
      '--url',
      server.url,
      '--actor',
      'ann@acme.example',
      '-o',
      made,
      '--json',
    ]);
    assert.equal(exported.code, 0, exported.error);
    const bytes = readFileSync(made);
    assert.deepEqual(JSON.parse(exported.out), {
      file: made,
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      rows: 2,
    });
    const answer = await call(
      `${server.url}/api/v1/audit/export?format=csv&actor=${encodeURIComponent('ann@acme.example')}`,
      { headers: { 'x-api-key': tenant.key } },
    );
    assert.equal(gunzipSync(bytes).toString(), answer.text);
  });

  /** Imports a file of swipes with these numbers. */
  async function importSwipes(name: string, numbers: readonly number[], ...more: readonly string[]) {
    const file = join(directory, name);
    const swipes = numbers.map((number) => ({ number, at: 1_717_236_000, door: name, result: 'opened' }));
    writeFileSync(file, JSON.stringify({ swipes }));
    const args = ['import', file, '--from', 'badges', '--url', server.url, '--json', ...more];
    const { code, out, error } = await tools(args);
    assert.equal(code, 0, error);
    const { accepted_now, repeated_now } = JSON.parse(out) as Record<string, number>;
    return [accepted_now, repeated_now];
  }

  test('a record whose id the mapping names is stored once, whichever files it is in', async () => {
    assert.deepEqual(await importSwipes('a.json', [1, 2, 2]), [2, 1]);
    assert.deepEqual(await importSwipes('b.json', [2, 3]), [1, 1]);
    assert.deepEqual(await importSwipes('b.json', [2, 3], '--restart'), [2, 0]);
    assert.deepEqual(await importSwipes('c.json', [3], '--ids', join(directory, 'other.ids')), [1, 0]);
    // A killed run may leave part of an id.
    appendFileSync(join(directory, 'auditlog.ids'), 'torn');
    assert.deepEqual(await importSwipes('d.json', [1, 4]), [1, 1]);
    assert.deepEqual(await importSwipes('e.json', [4]), [0, 1]);
  });

  test('a dry run shows event, class and target of each record', async () => {
    const file = join(directory, 'dry.ndjson');
    const swipe = { at: 1_717_236_000, door: 'Lab 2', result: 'refused' };
    writeFileSync(file, `${JSON.stringify(swipe)}\n{"at":1717236000}\nx\n`.repeat(4));
    const { code, out, error } = await tools([
      'import',
      file,
      '--from',
      'badges',
      '--dry-run',
      '--url',
      'http://x',
    ]);
    assert.equal(code, 0, error);
    const shown = out.split('\n').filter((line) => line !== '');
    assert.deepEqual([shown.length, error.match(/would be rejected/g)?.length], [8, 4]);
    const { event, ...facts } = JSON.parse(shown[0] ?? '') as { event: Record<string, unknown> };
    assert.deepEqual(facts, {
      line: 1,
      class: { class_uid: 6003, class_name: 'API Activity', activity_id: 99, activity_name: 'Door refused' },
      target: { name: 'Lab 2', type: 'door' },
    });
    assert.deepEqual([event['activity_id'], event['status']], [990_002, 'Failure']);
  });

  test('a mapping that is none is wrong usage, in one line that names file and rule', async () => {
    const own = join(directory, 'mappings');
    mkdirSync(own);
    const file = join(own, 'bad.json');
    writeFileSync(file, '{"name":"bad"}');
    const from = ['import', file, '--url', 'http://x', '--from'];
    const bad = await tools([...from, 'bad'], tenant.key, own);
    assert.equal(bad.code, 2);
    assert.match(bad.error, /^auditlog-tools: MAPPINGS_DIR: .*bad\.json: the mapping must have .*'time'\n$/);
    const unknown = await tools([...from, 'nobody']);
    assert.equal(unknown.code, 2);
    assert.match(unknown.error, /--from: cloudtrail, github, json, kubernetes, okta, badges\n$/);
  });

  test('an export that fails leaves no file, and prints the reason', async () => {
    const into = ['-o', join(directory, 'none.ndjson')];
    const refused = await tools(['export', '--url', server.url, ...into], 'ak_none');
    assert.equal(refused.code, 1);
    assert.match(refused.error, /^auditlog-tools: 401 /);
    const cut = await listening((_request, answer) => {
      answer.writeHead(200, { 'x-total-count': '2' }).write('{}\n');
      setTimeout(() => answer.destroy(), 50);
    });
    const old = await listening((_request, answer) => {
      answer.writeHead(200, { 'ignored-parameters': 'actor' }).end('{}\n');
    });
    try {
      const at = ({ port }: AddressInfo): string => `http://127.0.0.1:${port}`;
      const broken = await tools(['export', '--url', at(cut.address() as AddressInfo), ...into]);
      assert.equal(broken.code, 1);
      const ignoring = await tools([
        'export',
        '--url',
        at(old.address() as AddressInfo),
        '--actor',
        'x',
        ...into,
      ]);
      assert.match(ignoring.error, /does not know these parameters: actor/);
    } finally {
      cut.close();
      old.close();
    }
    assert.deepEqual(
      readdirSync(directory).filter((name) => name.includes('none')),
      [],
    );
  });

  test('has no word of an engine, and refuses what needs one', async () => {
    for (const command of ['import', 'export', 'verify', 'forward']) {
      const { out } = await tools([command, '--help']);
      assert.doesNotMatch(out, /--org|engine|DATA_DIR/, command);
    }
    assert.equal((await tools(['export', '--org', 'acme'])).code, 2);
    assert.equal((await tools(['import', 'events.ndjson'])).code, 2);
    assert.equal((await tools(['verify'])).code, 2);
  });
});
