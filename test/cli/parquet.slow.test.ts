import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parquetReadObjects } from 'hyparquet';
import * as fc from 'fast-check';
import { decompress } from 'fzstd';
import { PartitionedExport, type PartitionResult } from '../../src/cli/export-partitions.ts';
import { limits } from '../../src/cli/limits.ts';
import { eventColumns } from '../../src/cli/parquet/columns.ts';
import { ParquetFile, toParquet } from '../../src/cli/parquet/file.ts';
import { acme } from '../../src/demo/acme.ts';
import { demoEvents } from '../../src/demo/events.ts';
import { activityClasses } from '../../src/ocsf/activity-classes.ts';
import { map } from '../ocsf/arbitrary.ts';
import { type OcsfEvent, sourceText, ocsf110Text } from '../ocsf/ocsf110-support.ts';
import { eventsOfParquet, groupsOfParquet } from '../support/parquet.ts';

/** OCSF 1.1.0 as Parquet: the same events as NDJSON, by class and day. */

const dayMicros = 86_400_000_000;
const endMicros = 1_788_300_000_000_000;
let directory: string;
/** Newest first: events of every activity and of the demo, over five days. */
let lines: readonly string[];

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'auditlog-parquet-'));
  const sources = [
    ...[...activityClasses.keys()].map((action) =>
      JSON.stringify({
        time: endMicros,
        message: { action, target: { id: 't"1', name: 'é,"time":1', type: 'file' } },
      }),
    ),
    ...[...demoEvents({ profile: acme, count: 400, endMicros, seed: 7 })].map((line) => line.trim()),
  ];
  lines = sources.map((source, n) => ocsf110Text(source, endMicros - n * (dayMicros / 100)));
});
after(() => rm(directory, { recursive: true, force: true }));

const parsed = (text: string): OcsfEvent => JSON.parse(text) as OcsfEvent;
const dayOf = ({ time }: OcsfEvent): string => new Date(time as number).toISOString().slice(0, 10);

async function wholeFile(texts: readonly string[]): Promise<Buffer> {
  async function* pieces(): AsyncGenerator<Buffer> {
    yield Buffer.from(texts.map((text) => `${text}\n`).join(''));
  }
  const parts: Buffer[] = [];
  for await (const part of toParquet(pieces(), eventColumns())) parts.push(part);
  return Buffer.concat(parts);
}

test('a file of all classes has every event as NDJSON has it', async () => {
  const bytes = await wholeFile(lines);
  assert.deepEqual(await eventsOfParquet(bytes), lines.map(parsed));
  const { rows, codecs, writer } = await groupsOfParquet(bytes);
  assert.deepEqual([rows, codecs], [[lines.length], new Set(['ZSTD'])]);
  assert.match(writer ?? '', /^auditlog version \d+\.\d+\.\d+/);
  assert.deepEqual(await eventsOfParquet(await wholeFile([])), []);
});

test('random events are the same, too', async () => {
  const sent = fc.sample(sourceText([...activityClasses.keys()]), 200).map((one) => map(one));
  const texts = sent.flatMap((row) =>
    typeof row === 'string' ? [] : [ocsf110Text(row.source, row.timeMicros)],
  );
  assert.ok(texts.length > 50, String(texts.length));
  assert.deepEqual(await eventsOfParquet(await wholeFile(texts)), texts.map(parsed));
});

test('numbers keep their digits, and unmapped its text', async () => {
  const source =
    '{"time":1700000000123456,"message":{"action":2001,"target":"a.txt","extra":{"fileSize":123456789012345678,"n":1.10,"unmapped":{"x":2E3}}}}';
  const text = ocsf110Text(source);
  const [row] = await parquetReadObjects({
    file: Uint8Array.from(await wholeFile([text])).buffer,
    compressors: { ZSTD: (page) => decompress(page) },
  });
  const { file, unmapped, src_endpoint: endpoint, user } = row as OcsfEvent;
  assert.equal(file.size, 123_456_789_012_345_678n);
  assert.ok(text.includes(`,"unmapped":${unmapped as string}}`), unmapped as string);
  assert.match(unmapped as string, /"n":1\.10,"unmapped":\{"x":2E3\}/);
  // An absent object is null, not an object of nulls.
  assert.deepEqual([endpoint.port, user], [null, undefined]);
});

test('row groups are bounded by rows and by text', async () => {
  const file = await ParquetFile.create(eventColumns());
  const line = ocsf110Text(
    JSON.stringify({ time: endMicros, msg: 'x'.repeat(60_000), message: { action: 2001 } }),
  );
  for (let n = 0; n < limits.parquetGroupCharactersMin; n += line.length) {
    assert.equal(file.isFull, false);
    file.add(line);
  }
  assert.equal(file.isFull, true);
  const pieces = [await file.group()];
  assert.equal(file.isFull, false);
  file.add(line);
  pieces.push(await file.end());
  const { rows } = await groupsOfParquet(Buffer.concat(pieces));
  assert.deepEqual(rows, [Math.ceil(limits.parquetGroupCharactersMin / line.length), 1]);
});

async function partitioned(name: string, texts: readonly string[]): Promise<readonly PartitionResult[]> {
  const made = await PartitionedExport.open(join(directory, name), 'acme-1');
  try {
    for (const text of texts) await made.add(text);
    return await made.finish((files) => ({ files }));
  } finally {
    await made.close();
  }
}

test('a directory has a file for each class and day, which holds these events alone', async () => {
  const files = await partitioned('whole', lines);
  const events = lines.map(parsed);
  const found = new Map<string, unknown[]>();
  for (const { file, rows, bytes, sha256 } of files) {
    const content = await readFile(join(directory, 'whole', file));
    assert.deepEqual([bytes, sha256], [content.length, createHash('sha256').update(content).digest('hex')]);
    const inFile = await eventsOfParquet(content);
    assert.equal(inFile.length, rows);
    found.set(file, inFile);
  }
  const names = { 3001: 'account_change', 3002: 'authentication', 3003: 'authorize_session' };
  const more = {
    3004: 'entity_management',
    3005: 'user_access',
    3006: 'group_management',
    6002: 'application_lifecycle',
  };
  const classes = { ...names, ...more, 6003: 'api_activity', 6006: 'file_hosting' };
  const expected = new Map<string, unknown[]>();
  for (const event of events) {
    const name = classes[event['class_uid'] as keyof typeof classes];
    const path = `${name}/eventDay=${dayOf(event).replaceAll('-', '')}/acme-1.parquet`;
    expected.set(path, [...(expected.get(path) ?? []), event]);
  }
  assert.ok(expected.size > 12, String(expected.size));
  assert.deepEqual(found, expected);
  const manifest = await readFile(join(directory, 'whole.manifest.json'), 'utf8');
  assert.deepEqual(JSON.parse(manifest), { files });
  assert.equal(existsSync(join(directory, 'whole.partial')), false);
});

test('an interrupted export leaves nothing complete, and begins again', async () => {
  const made = await PartitionedExport.open(join(directory, 'cut'), 'acme-1');
  for (const text of lines.slice(0, 200)) await made.add(text);
  await assert.rejects(partitioned('cut', lines), /another export to .*cut is running/);
  assert.equal(existsSync(join(directory, 'cut')), false);
  await made.close();
  assert.deepEqual(
    [existsSync(join(directory, 'cut')), existsSync(join(directory, 'cut.partial'))],
    [false, false],
  );
  // As after a kill.
  const left = join(directory, 'cut.partial', 'files', 'account_change', 'eventDay=20000101');
  await mkdir(left, { recursive: true });
  await writeFile(join(left, 'acme-1.parquet'), 'PAR1');
  const files = await partitioned('cut', lines.slice(0, 10));
  assert.equal(existsSync(join(directory, 'cut', 'account_change', 'eventDay=20000101')), false);
  assert.equal(
    files.reduce((sum, { rows }) => sum + rows, 0),
    10,
  );
});

test('a directory with files in it, and an order that is not by time, are refused', async () => {
  await mkdir(join(directory, 'full'));
  await partitioned('full', lines.slice(0, 1));
  await assert.rejects(partitioned('full', lines), /cannot write .*full: the directory is not empty/);
  await writeFile(join(directory, 'file'), '');
  await assert.rejects(partitioned('file', lines), /cannot write .*file: it is a file/);
  await assert.rejects(partitioned('order', lines.toReversed()), /newest first/);
  assert.equal(existsSync(join(directory, 'order')), false);
});
