import { strict as assert } from 'node:assert';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { after, before, describe, test } from 'node:test';
import { firstSeqOf, segmentAtTime } from '../../src/base/events/sequence.ts';
import { formatMicros } from '../../src/base/time/timestamp.ts';
import { checkpointText } from '../../src/tlog/checkpoint.ts';
import { encodeEntry, entryBytes, eventHash, toBundle } from '../../src/tlog/entry.ts';
import { leafHashes } from '../../src/tlog/hash.ts';
import { createSigner, parseSeed } from '../../src/tlog/note.ts';
import { RightEdge, type TileHashes } from '../../src/tlog/right-edge.ts';
import { tilePath } from '../../src/tlog/tile.ts';
import { alteringEvents } from '../support/chosen-engine.ts';
import { call, eventually, problemOf } from '../support/http.ts';
import { KeptService } from '../support/kept-service.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { createTenant, printed, sourceEvent, type Tenant } from '../support/server.ts';
import { type Verification, verifyOn } from '../support/verification.ts';
import { withEngine } from './export-support.ts';

/** Events of each organization, beside those of making it and its key. */
const recorded = 600;

const forgersKey = 'PRIVATE+KEY+service+63dd8183+AQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUF';

/** Files of an auditor outside the data directory, among them trees of `verify --keep`. */
let kept: string;
let copy: string;
const service = new KeptService({}, { evidenceMs: 200 });
before(async () => {
  kept = await temporaryDirectory();
  copy = join(kept, 'copy');
  await service.start({ REDACT_KEYS: 'fileHash' });
});
after(async () => {
  await service.end();
  await removeDirectory(kept);
});

const get = (tenant: Tenant, what: string) =>
  call(`${tenant.server.url}/api/v1/audit/evidence/${what}`, { headers: { 'x-api-key': tenant.key } });

interface Audited {
  readonly tenant: Tenant;
  readonly id: string;
  readonly slug: string;
  /** The auditor's files: public key and newest checkpoint. */
  readonly key: string;
  readonly checkpoint: string;
  /** Number of events that the checkpoint covers. */
  readonly size: number;
}

/** Events that fill every column, have secrets, or are longer than one read. */
const unusual: ReadonlyMap<number, object> = new Map([
  [
    500,
    {
      action: { code: 2005, title: 'Up\tload' },
      actor: { id: 'U-1', name: 'Zoë', email: 'Zoe@Acme.example', type: 'User' },
      target: { name: 'Übersicht.PDF' },
      result: { code: 500, detail: 'full' },
      remote: { ip: '192.0.2.1', port: 443 },
      sender: { file: 'Report.pdf', hash: 'AB12' },
      flow_id: '0190A2B3-4C5D-7E6F-8A9B-0C1D2E3F4A5B',
      log: { provider: 'p', version: '1' },
      extra: { fileHash: 'CD34', password: 'x', list: [{ name: 'token', value: 1 }] },
    },
  ],
  [501, { actor: 'somebody', extra: { fileHash: 'CD34', text: 'x'.repeat(200_000) } }],
]);

/** An organization with events at distinct times, all covered by a kept checkpoint. */
async function audited(slug: string): Promise<Audited> {
  const tenant = await createTenant(service.server, slug);
  const event = (n: number) =>
    JSON.stringify(sourceEvent({ timestamp: 1_700_000_000_000_000 + n, extra: { n }, ...unusual.get(n) }));
  const body = Array.from({ length: recorded }, (_, n) => event(n)).join('\n');
  assert.equal((await tenant.post(body, { 'content-type': 'application/x-ndjson' })).status, 202);
  const text = await eventually('a checkpoint of all', async () => {
    const answer = await get(tenant, 'checkpoint');
    return Number(answer.text.split('\n')[1]) > recorded ? answer.text : undefined;
  });
  const { keys } = JSON.parse((await get(tenant, 'key')).text) as { keys: { key: string }[] };
  const files = { key: join(kept, `${slug}.key`), checkpoint: join(kept, `${slug}.checkpoint`) };
  writeFileSync(files.key, `${keys[0]?.key}\n`);
  writeFileSync(files.checkpoint, text);
  return { tenant, slug, id: tenant.organization.id, ...files, size: Number(text.split('\n')[1]) };
}

/** Finds a proof by the event's `metadata.uid`, and not by another organization's. */
async function holdByUid({ tenant, id }: Audited): Promise<void> {
  const moment = new Date(timeOf(100) / 1000).toISOString().replace('Z', `${String(timeOf(100)).slice(-3)}Z`);
  const query = new URLSearchParams({ schema: 'ocsf', startTime: moment, endTime: moment });
  const page = await call(`${tenant.server.url}/api/v1/audit?${query.toString()}`, {
    headers: { 'x-api-key': tenant.key },
  });
  const [event] = (JSON.parse(page.text) as { data: { metadata: { uid: string } }[] }).data;
  const { uid } = event?.metadata ?? { uid: '' };
  const answer = await get(tenant, `proof?uid=${uid}`);
  const proof = JSON.parse(answer.text) as { seq: string; time: number };
  assert.deepEqual([`${id}-${proof.seq}`, proof.time], [uid, timeOf(100)]);
  assert.equal(answer.text, (await get(tenant, `proof?seq=${proof.seq}`)).text);
  assert.equal(answer.text, (await get(tenant, `proof?uid=${uid.toUpperCase()}`)).text);
  for (const [query, detail] of [
    ['position=0&seq=5', /^Only one of the parameters "seq" and "position" is allowed/],
    ['position=0&older=3', /"position" and "older"/],
    ['position=9007199254740992', /"position" must be .*, at most 9007199254740991\.$/],
    ['seq=18446744073709551616', /"seq" must be .*, at most 18446744073709551615\.$/],
  ] as const)
    assert.match(problemOf(await get(tenant, `proof?${query}`), 400).detail ?? '', detail, query);
  assert.equal(problemOf(await get(tenant, 'proof?seq=18446744073709551615'), 404)['evidence'], 'pending');
  for (const [wrong, status, detail] of [
    [`00000000-0000-7000-8000-000000000001-${proof.seq}`, 404, /^The tree has no such event/],
    [`${id}-1`, 404, /^The tree has no such event/],
    [proof.seq, 400, /^The parameter "uid" must be the metadata\.uid of an event: organization id/],
    [`${uid}x`, 400, /"uid"/],
  ] as const) {
    const refused = await get(tenant, `proof?uid=${wrong}`);
    assert.match(problemOf(refused, status).detail ?? '', detail, wrong);
  }
}

/** Runs `verify --keep` as an organization's auditor. */
async function keep({ tenant, slug, key }: Audited, directory = copy): Promise<Verification> {
  const apiKey = join(kept, `${slug}.api-key`);
  writeFileSync(apiKey, tenant.key);
  return verify(['--keep', directory, '--url', tenant.server.url, '--key-file', apiKey, '--key', key]);
}

/** A tree of invented entries that the service's key has signed: a second history. */
function keepInvented(directory: string, one: Audited, size: number): void {
  const entries = Buffer.concat(
    Array.from({ length: size }, (_, n) =>
      encodeEntry({
        seq: BigInt(n + 1),
        time: n,
        expires: 65_535,
        own: false,
        eventHash: Buffer.alloc(32, n),
      }),
    ),
  );
  const put = (name: string, content: string | Buffer): void => {
    const path = join(directory, one.id, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  };
  const putHashes = (tile: TileHashes): void => put(tilePath({ ...tile, kind: 'hashes' }), tile.hashes);
  const edge = new RightEdge();
  edge.addAll(leafHashes(entries, entryBytes), putHashes);
  for (const tile of edge.partialTiles()) putHashes(tile);
  for (let at = 0, index = 0; at < size; at += 256, index++) {
    const width = Math.min(256, size - at);
    const bundle = toBundle(entries.subarray(at * entryBytes, (at + width) * entryBytes));
    put(tilePath({ kind: 'entries', level: 0, index, width }), bundle);
  }
  put('checkpoint', signedBy(one, size, edge.root()));
}

/** A checkpoint signed with the service's own key. */
function signedBy({ id }: Audited, size: number, root: Uint8Array): string {
  const origin = `service/${id}`;
  const seed = parseSeed(readFileSync(join(service.dataDir, 'evidence-key'), 'utf8'));
  return createSigner(origin, seed ?? Buffer.alloc(32)).sign(checkpointText({ origin, size, root }));
}

/** A copy of the tree matches the stored events and a file, and identifies the altered event in a file. */
async function holdToCopy(one: Audited, file: string): Promise<void> {
  const first = await keep(one);
  assert.deepEqual(
    [first.code, first.findings, first.events, first.covered >= one.size],
    [0, [], first.covered, true],
  );
  const again = await keep(one);
  assert.deepEqual([again.code, again.findings, again.events < first.events], [0, [], true]);
  const withKey = ['--key', one.key, '--copy'];
  const stored = await verify(['--org', one.slug, ...withKey, copy]);
  assert.deepEqual(
    [stored.code, stored.findings, stored.notes.filter((note) => note.includes('--'))],
    [0, [], []],
  );
  assert.deepEqual((await verify([file, ...withKey, join(copy, one.id)])).findings, []);

  // A line altered so that entry and source event match.
  const lines = gunzipSync(readFileSync(file)).toString().split('\n');
  const [place, line = ''] = [...lines.entries()].find(([, text]) => text.includes('"extra":{"n":400}')) ?? [
    0,
  ];
  const [, base64 = '', shown = '', source = ''] =
    /"entry":"([^"]+)","shown":"([^"]+)","source":(.*)\}$/.exec(line) ?? [];
  const altered = source.replace('{"n":400}', '{"n":401}');
  const entry = Buffer.from(base64, 'base64');
  eventHash({ source: Buffer.from(altered), shown: Buffer.from(shown, 'base64') }).copy(entry, 21);
  lines[place] = line.replace(base64, entry.toString('base64')).replace(source, altered);
  const forged = join(kept, 'forged.ndjson');
  writeFileSync(forged, lines.join('\n'));
  const found = (await verify([forged, ...withKey, copy])).findings;
  assert.deepEqual(
    found.map(({ kind, position }) => [kind, position])[0],
    ['altered', place - 1],
    JSON.stringify(found),
  );
  assert.equal(found[0]?.time, formatMicros(timeOf(400)));
  assert.equal((await verify([forged, '--key', one.key])).findings[0]?.kind, 'contradicted');

  // An altered copy contradicts its checkpoint; a missing copy is reported.
  const other = join(kept, 'other-copy');
  cpSync(join(copy, one.id), other, { recursive: true });
  const tile = join(other, 'tile', 'entries', '001');
  const bytes = readFileSync(tile);
  bytes.writeUInt8((bytes.at(-1) ?? 0) ^ 1, bytes.length - 1);
  writeFileSync(tile, bytes);
  const { findings } = await verify(['--org', one.slug, ...withKey, other]);
  assert.deepEqual(
    [findings.map(({ kind }) => kind), findings.slice(0, 2).map(({ position }) => position)],
    [
      ['altered', 'contradicted', 'contradicted'],
      [511, 511],
    ],
    JSON.stringify(findings),
  );
  const nowhere = await service.server.cliHere(['verify', '--org', one.slug, ...withKey, kept]);
  assert.deepEqual([nowhere.code, /has no kept tree of/.test(nowhere.stderr)], [1, true], nowhere.stderr);
}

const verify = (args: readonly string[]) => verifyOn(service.server, args);

/** A file and a proof show that an event is missing; a filtered file only says that it cannot show it. */
async function holdDeleted(one: Audited, position: number, time: string): Promise<void> {
  const file = join(kept, 'deleted.ndjson.gz');
  const evidence = ['export', '--org', one.slug, '--evidence', '-o', file];
  const exported = await service.server.cliHere(evidence);
  assert.match(exported.stderr, /^auditlog: 1 events of the tree are missing, and retention has not/);
  const proof = join(kept, 'deleted.proof.json');
  writeFileSync(proof, (await get(one.tenant, `proof?position=${position}`)).text);
  for (const [what, detail] of [
    [file, /is missing, and retention has not removed it; in all 1 missing$/],
    [proof, /is missing, and retention has not removed it$/],
  ] as const) {
    const { code, findings } = await verify([what, '--key', one.key]);
    const [found, ...more] = findings;
    assert.deepEqual(
      [code, found?.kind, found?.position, found?.time, more],
      [1, 'missing', position, time, []],
    );
    assert.match(found?.detail ?? '', detail);
  }
  const filtered = await service.server.cliHere([...evidence, '--actor', 'nobody@acme.example']);
  assert.doesNotMatch(filtered.stderr, /are missing/);
  const { findings, notes } = await verify([file, '--key', one.key]);
  assert.deepEqual(findings, []);
  assert.match(notes[1] ?? '', /^the file was exported with filters: \d+ events that have not expired/);
  const refused = await service.server.cliHere([...evidence, '--schema', 'ocsf']);
  assert.deepEqual([refused.code, /has its own format/.test(refused.stderr)], [2, true]);
}

const inEngine = ({ slug, key, checkpoint }: Audited) =>
  verify(['--org', slug, '--key', key, '--checkpoint', checkpoint]);

/** Changes the table behind the service. */
const change = (sql: string, parameters: object) =>
  withEngine(service.server, (storage) =>
    storage.command(
      alteringEvents(storage, `${sql} SETTINGS mutations_sync = 1`),
      { ...parameters },
      { settings: { allow_nondeterministic_mutations: 1 } },
    ),
  );
/** Time of the n-th recorded event. */
const timeOf = (n: number) => 1_700_000_000_000_000 + n;
const micros = 'toUnixTimestamp64Micro(time)';

describe('what an auditor finds', () => {
  test('nothing, where nothing was changed: in the engine, in a file, and of one event', async () => {
    const one = await audited('honest');
    const { code, healthy, covered, events, findings } = await inEngine(one);
    assert.deepEqual([code, healthy, findings], [0, true, []]);
    assert.ok(events >= covered && covered >= one.size);

    const file = join(kept, 'honest.ndjson.gz');
    printed(await service.server.cliHere(['export', '--org', 'honest', '--evidence', '-o', file, '--json']));
    const offline = await verify([file, '--key', one.key, '--checkpoint', one.checkpoint]);
    assert.deepEqual([offline.code, offline.findings], [0, []]);
    assert.ok(offline.events > recorded);
    // One line more than was signed, like the last one.
    const lines = gunzipSync(readFileSync(file)).toString().trimEnd();
    const last = lines.slice(lines.lastIndexOf('\n') + 1);
    const longer = join(kept, 'longer.ndjson');
    writeFileSync(longer, `${lines}\n${last.replace(/^\{"n":\d+/, `{"n":${offline.events}`)}\n`);
    const { code: longerCode, findings: added, notes } = await verify([longer, '--key', one.key]);
    assert.deepEqual([longerCode, added[0]?.kind, added[0]?.position], [1, 'added', offline.events]);
    assert.match(notes.join('\n'), /^without --checkpoint, the checkpoint of the file/m);
    assert.doesNotMatch(offline.notes.join('\n'), /without --checkpoint/);

    const proof = join(kept, 'honest.proof.json');
    writeFileSync(proof, (await get(one.tenant, 'proof?position=100')).text);
    assert.deepEqual((await verify([proof, '--key', one.key])).findings, []);
    const pipe = join(kept, 'honest.pipe');
    execFileSync('mkfifo', [pipe]);
    for (const whole of [proof, file]) {
      const written = writeFile(pipe, readFileSync(whole)).catch(() => undefined);
      assert.deepEqual((await verify([pipe, '--key', one.key])).findings, []);
      await written;
    }
    for (const missing of [
      [proof, '--key', join(kept, 'none')],
      [proof, '--key', kept],
      [join(kept, 'none'), '--key', one.key],
    ])
      assert.equal((await service.server.cliHere(['verify', ...missing])).code, 2, missing.join(' '));
    await holdByUid(one);
    await holdToCopy(one, file);
    const other = join(kept, 'other.key');
    writeFileSync(
      other,
      readFileSync(one.key, 'utf8').replace(
        /\+[^+]{8}\+.*/,
        '+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k',
      ),
    );
    assert.equal((await service.server.cliHere(['verify', proof, '--key', other])).code, 1);
  });

  test('evidence of another organization, under another name, and an export older than a kept checkpoint', async () => {
    const [one, other] = [await audited('mine'), await audited('theirs')];
    const file = join(kept, 'mine.ndjson');
    printed(await service.server.cliHere(['export', '--org', 'mine', '--evidence', '-o', file, '--json']));
    const proof = join(kept, 'mine.proof.json');
    writeFileSync(proof, (await get(one.tenant, 'proof?position=100')).text);
    for (const what of [[file], [proof], ['--org', 'mine']]) {
      const { code, stdout, stderr } = await service.server.cliHere(['verify', ...what, '--key', other.key]);
      assert.deepEqual([code, stdout], [1, ''], stderr);
      assert.ok(
        stderr.includes(`the key is one of service/${other.id}, and this is evidence of service/${one.id}`),
      );
    }

    const [head = '', ...lines] = readFileSync(file, 'utf8').split('\n');
    const withHead = (text: string) => writeFileSync(file, [text, ...lines].join('\n'));
    withHead(head.replace('"slug":"mine"', '"slug":"theirs"'));
    const renamed = await verify([file, '--key', one.key]);
    assert.deepEqual([renamed.code, renamed.findings.map(({ kind }) => kind)], [1, ['altered']]);
    assert.match(
      renamed.findings[0]?.detail ?? '',
      /names the organization "theirs", but the event at position \d+ names it "mine"/,
    );
    withHead(head.replace(`"id":"${one.id}"`, `"id":"${other.id}"`));
    const strange = await service.server.cliHere(['verify', file, '--key', one.key]);
    assert.match(strange.stderr, /names the organization .*, but its evidence belongs to/);
    for (const broken of [
      head.slice(0, -1),
      head.replace('"organization":{', '"organization":null,"x":{'),
      head.replace(/"policies":\[/, '"policies":[null,'),
      head.replace(/"policies":\[/, '"policies":[{"n":1,"seq":"x","source":"{}"},'),
    ]) {
      withHead(broken);
      const { code, stderr } = await service.server.cliHere(['verify', file, '--key', one.key]);
      assert.deepEqual(
        [code, /the first line of .* is not in the format of exports/.test(stderr)],
        [1, true],
        stderr,
      );
    }

    withHead(head);
    assert.equal((await verify([file, '--key', one.key])).code, 0);
    await one.tenant.record([sourceEvent()]);
    const newer = join(kept, 'mine.newer');
    const text = await eventually('a newer checkpoint', async () => {
      const answer = await get(one.tenant, 'checkpoint');
      return Number(answer.text.split('\n')[1]) > lines.length - 1 ? answer.text : undefined;
    });
    writeFileSync(newer, text);
    const older = await verify([file, '--key', one.key, '--checkpoint', newer]);
    assert.deepEqual(
      [older.code, older.findings, older.confirm.map(({ kind, events }) => [kind, events])],
      [3, [], [['older', 1]]],
    );
    assert.match(older.confirm[0]?.detail ?? '', /the file is older, and does not have the 1 after it/);
  });

  test('another history, signed with the same key', async () => {
    const one = await audited('forked');
    const forked = join(kept, 'forked.other');
    writeFileSync(forked, signedBy(one, one.size, Buffer.alloc(32, 1)));
    const { findings } = await verify([
      '--org',
      'forked',
      '--key',
      one.key,
      '--checkpoint',
      one.checkpoint,
      '--checkpoint',
      forked,
    ]);
    assert.equal(findings[0]?.kind, 'forked');
  });

  test('a service that does not continue the tree that the auditor keeps', async () => {
    const one = await audited('kept');
    const cases: readonly (readonly [size: number, kind: string, detail: RegExp])[] = [
      [10, 'contradicted', /sent entries that differ from the kept ones among the first 10/],
      [256, 'contradicted', /^the 256 kept entries and the entries from position 256 do not match the root/],
      [5_000, 'shorter', /^the service sent a checkpoint of \d+ events, but the kept one covers 5000/],
    ];
    for (const [size, kind, detail] of cases) {
      const directory = join(kept, `invented-${size}`);
      keepInvented(directory, one, size);
      const before = readFileSync(join(directory, one.id, 'checkpoint'), 'utf8');
      const { code, findings, covered } = await keep(one, directory);
      assert.deepEqual([code, findings.map((found) => found.kind), covered], [1, [kind], size]);
      assert.match(findings[0]?.detail ?? '', detail);
      // The kept tree stays, and the contradicting checkpoint is evidence.
      assert.equal(readFileSync(join(directory, one.id, 'checkpoint'), 'utf8'), before);
      assert.equal(readdirSync(join(directory, one.id, 'contradicting')).length, 1);
    }

    const directory = join(kept, 'harmed');
    assert.equal((await keep(one, directory)).code, 0);
    const partial = readdirSync(join(directory, one.id, 'tile', '0'), { recursive: true, encoding: 'utf8' });
    const name = partial.find((entry) => /\.p\/\d+$/.test(entry)) ?? '';
    const path = join(directory, one.id, 'tile', '0', name);
    const bytes = readFileSync(path);
    bytes.writeUInt8((bytes.at(-1) ?? 0) ^ 1, bytes.length - 1);
    writeFileSync(path, bytes);
    const apiKey = join(kept, 'kept.api-key');
    const args = ['verify', '--keep', directory, '--url', one.tenant.server.url, '--key', one.key];
    const harmed = await service.server.cliHere([...args, '--key-file', apiKey]);
    assert.deepEqual(
      [harmed.code, /is damaged: its tiles do not match the root/.test(harmed.stderr)],
      [1, true],
    );
    for (const wrong of [
      ['--keep', directory, '--key', one.key, '--key-file', apiKey],
      ['--keep', directory, '--url', one.tenant.server.url, '--key-file', apiKey],
      [...args.slice(1), '--key-file', apiKey, '--org', 'kept'],
      ['--org', 'kept', '--url', one.tenant.server.url],
    ])
      assert.equal((await service.server.cliHere(['verify', ...wrong])).code, 2, wrong.join(' '));
  });

  const altered = `ALTER TABLE events UPDATE source = replaceOne(source, '"n":', '"n" :')`;
  // `tlog/audit.test.ts` has every kind at every position.
  const tampered: readonly (readonly [name: string, sql: string, kind: string, n: number])[] = [
    ['altered', `${altered} WHERE org = {id:UUID} AND ${micros} = {first:Int64}`, 'altered', 300],
    [
      'deleted',
      `ALTER TABLE events DELETE WHERE org = {id:UUID} AND ${micros} = {first:Int64}`,
      'missing',
      300,
    ],
    [
      'added',
      `INSERT INTO events (org, time, seq, activity_id, expires, ocsf, source)
       SELECT org, time, seq - 1, activity_id, expires, ocsf, source FROM events
       WHERE org = {id:UUID} AND ${micros} = ${timeOf(0)}`,
      'added',
      0,
    ],
    [
      'backdated',
      `INSERT INTO events (org, time, seq, activity_id, expires, ocsf, source)
       SELECT org, fromUnixTimestamp64Micro(${timeOf(2000)}, 'UTC'), (SELECT max(last_seq) FROM evidence_tiles WHERE org = {id:UUID}) + 1,
         activity_id, expires, ocsf, source FROM (SELECT * FROM events WHERE org = {id:UUID} AND ${micros} = ${timeOf(0)})`,
      'added',
      2000,
    ],
  ];
  describe('rows that were', () => {
    /** Concurrently: each waits for its own checkpoint. */
    const all = new Map<string, Audited>();
    before(async () => {
      for (const one of await Promise.all(tampered.map(([name]) => audited(name)))) all.set(one.slug, one);
    });

    for (const [name, sql, kind, n] of tampered) {
      test(`${name}: the first of them by place and time`, async () => {
        const one = all.get(name) ?? assert.fail(name);
        await change(sql, { id: one.id, first: timeOf(n) });
        const { code, findings } = await inEngine(one);
        const [found, ...more] = findings;
        assert.deepEqual([code, found?.kind, more], [1, kind, []], JSON.stringify(findings));
        assert.equal(found?.time, formatMicros(timeOf(n)));
        if (n >= recorded) return;
        // The position of this event in the tree, which still has it.
        const proof = await get(one.tenant, `proof?position=${found?.position}`);
        assert.equal((JSON.parse(proof.text) as { time: number }).time, timeOf(n));
        if (name === 'deleted') await holdDeleted(one, found?.position ?? 0, found?.time ?? '');
      });
    }
  });

  /** Columns with a value in an INSERT; the engine derives the others. */
  const columnsOfEvents = () =>
    withEngine(service.server, (storage) =>
      storage.rows<{ name: string; type: string; isKey: number }>(
        `SELECT name, type, is_in_sorting_key AS isKey FROM system.columns
         WHERE database = currentDatabase() AND table = 'events' AND default_kind != 'MATERIALIZED'`,
      ),
    );

  function otherValue(name: string, type: string): string {
    if (type.startsWith('Array')) return `arrayPushBack(${name}, 'x')`;
    if (type === 'Bool') return `NOT ${name}`;
    if (type === 'UUID') return 'generateUUIDv4()';
    return type.includes('String') ? `concat(${name}, 'x')` : `${name} + 1`;
  }

  test('every column is in the leaf of its event: whichever one is altered, in the table and in the answer of a proof', async () => {
    const one = await audited('columns');
    const rows = await columnsOfEvents();
    // Key columns cannot be altered in place; inserted rows are tested above.
    const places = rows
      .filter(({ isKey }) => !isKey)
      .map((column, at) => ({ ...column, time: timeOf(100 + at) }));
    assert.ok(places.length >= 14);
    const values = places.map(
      ({ name, type, time }) => `${name} = if(${micros} = ${time}, ${otherValue(name, type)}, ${name})`,
    );
    const times = places.map(({ time }) => time).join(', ');
    await change(
      `ALTER TABLE events UPDATE ${values.join(', ')} WHERE org = {id:UUID} AND ${micros} IN (${times})`,
      { id: one.id },
    );
    const { code, findings } = await inEngine(one);
    const [found, ...more] = findings;
    assert.deepEqual([code, found?.kind, found?.time, more], [1, 'altered', formatMicros(timeOf(100)), []]);
    assert.match(found?.detail ?? '', new RegExp(`; in all ${places.length} altered$`));
    for (const { name, time } of [...places, { name: 'none', time: timeOf(90) }]) {
      const [row] = await withEngine(service.server, (storage) =>
        storage.rows<{ place: string }>(
          `SELECT toString(seq) AS place FROM events WHERE org = {id:UUID} AND ${micros} = {time:Int64}`,
          { id: one.id, time },
        ),
      );
      const proof = await get(one.tenant, `proof?seq=${row?.place}`);
      const { as_recorded } = JSON.parse(proof.text) as { as_recorded: boolean };
      assert.equal(as_recorded, name === 'none', name);
    }
  });

  test('a row that no tree has come to: one for which its writer has yet to live, and one that waits for its checkpoint', async () => {
    const one = await audited('ahead');
    const copyOf = (ahead: string) =>
      withEngine(service.server, (storage) =>
        storage.command(
          `INSERT INTO events SELECT * REPLACE (seq + {ahead:UInt64} AS seq) FROM events
           WHERE org = {org:UUID} AND ${micros} = {time:Int64} ORDER BY seq LIMIT 1`,
          { org: one.id, ahead, time: timeOf(7) },
        ),
      );
    await copyOf('10000000000000');
    const waiting = await inEngine(one);
    assert.deepEqual([waiting.code, waiting.findings], [0, []]);
    assert.match(
      waiting.notes.join('\n'),
      /^1 events, from order number \d+ on, are stored but in no tree yet/m,
    );
    await copyOf('1000000000000000');
    const { code, findings } = await inEngine(one);
    assert.deepEqual(
      [code, findings.map(({ kind, time }) => [kind, time])],
      [1, [['added', formatMicros(timeOf(7))]]],
    );
    assert.match(
      findings[0]?.detail ?? '',
      /^1 events have order numbers that no writer has reached: the first/,
    );
    const examined = await service.server.cliHere(['doctor', '--quick']);
    assert.match(
      examined.stdout + examined.stderr,
      new RegExp(`${one.id}.*order numbers that no writer has reached`, 's'),
    );
    const from = firstSeqOf(segmentAtTime(Date.now() + 60_000));
    await change('ALTER TABLE events DELETE WHERE org = {org:UUID} AND seq >= {from:UInt64}', {
      org: one.id,
      from,
    });
  });

  test('more rows than any tree has in a place', async () => {
    const one = await audited('flooded');
    await change(
      `INSERT INTO events (org, time, seq, activity_id, expires, ocsf, source)
       SELECT org, time, seq - 1 - arrayJoin(range(350000)), activity_id, expires, '', ''
       FROM events WHERE org = {id:UUID} AND ${micros} = ${timeOf(0)}`,
      { id: one.id },
    );
    // With the throttle this would take most of a minute; `throttle` tests it.
    const files = ['--key', one.key, '--checkpoint', one.checkpoint];
    const { code, findings } = await verify(['--org', one.slug, ...files, '--full-speed']);
    assert.deepEqual([code, findings.map(({ kind }) => kind)], [1, ['added']]);
  });

  test('a table that was replaced with all that follows from it, and one that was set back', async () => {
    const one = await audited('forged');
    assert.equal((await keep(one)).code, 0);
    // The engine's operator has altered an event and rebuilt the tree, for a server with another key.
    await change(`${altered} WHERE org = {id:UUID} AND ${micros} = {first:Int64}`, {
      id: one.id,
      first: timeOf(10),
    });
    await withEngine(service.server, async (storage) => {
      for (const table of ['evidence_tiles', 'evidence_checkpoints'])
        await storage.command(`DELETE FROM ${table} WHERE org = {id:UUID}`, { id: one.id });
      await storage.command('TRUNCATE TABLE evidence_keys');
      await storage.command('TRUNCATE TABLE evidence_progress');
    });
    await service.server.stop();
    const env = { EVIDENCE_KEY: undefined };
    writeFileSync(join(service.dataDir, 'evidence-key'), forgersKey);
    const server = await service.start(env);
    const tenant = { ...one.tenant, server };
    await eventually('a tree of the forgery', async () =>
      (await get(tenant, 'checkpoint')).status === 200 ? true : undefined,
    );
    const { findings, notes } = await inEngine(one);
    assert.deepEqual(
      findings.map(({ kind }) => kind),
      ['contradicted'],
    );
    assert.match(findings[0]?.detail ?? '', /the first change is at one of the positions 0 to \d+/);
    assert.ok(
      notes.some((note) => note.includes('is ignored')),
      notes.join(),
    );

    // The auditor does not trust the forger's key.
    await assert.rejects(keep({ ...one, tenant }), /none of the known keys has signed this/);
    // The copy, beyond the operator's reach, identifies the event.
    const byCopy = () => verify(['--org', 'forged', '--key', one.key, '--copy', copy]);
    const named = await byCopy();
    const proof = await get(tenant, `proof?position=${named.findings[0]?.position}`);
    assert.equal((JSON.parse(proof.text) as { time: number }).time, timeOf(10));
    assert.deepEqual(
      named.findings.map(({ kind, time }) => [kind, time]),
      ['altered', 'contradicted'].map((kind) => [kind, formatMicros(timeOf(10))]),
    );
    assert.match(
      named.findings[1]?.detail ?? '',
      /has different entries in the tree of the engine and in the copy/,
    );

    await withEngine(service.server, (storage) =>
      storage.command('DELETE FROM evidence_tiles WHERE org = {id:UUID} AND level = 0 AND tile > 0', {
        id: one.id,
      }),
    );
    assert.equal((await inEngine(one)).findings.at(-1)?.kind, 'shorter');
    assert.deepEqual(
      (await byCopy()).findings.map(({ kind }) => kind),
      ['altered', 'contradicted'],
    );
  });
});
