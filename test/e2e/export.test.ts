import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import {
  acceptedOf,
  type AuditEvent,
  call,
  eventually,
  type HttpAnswer,
  problemOf,
} from '../support/http.ts';
import { createTenant, flushMs, sourceEvent, type Tenant, type SharedServer } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';
import { dangerous, harmless } from '../support/harmless-cell.ts';
import { namesOf } from '../support/names.ts';
import { patience } from '../support/patience.ts';
import { rounds } from '../support/rounds.ts';

/** The export endpoint (contract: Read, export), black box against the embedded engine. */

type Query = Readonly<Record<string, string>>;

const exportUrl = (tenant: Tenant, query: Query = {}) =>
  `${tenant.server.url}/api/v1/audit/export?${new URLSearchParams(query).toString()}`;

const get = (tenant: Tenant, query: Query = {}, headers: Record<string, string> = {}) =>
  call(exportUrl(tenant, query), { headers: { 'x-api-key': tenant.key, ...headers } });

async function exported(tenant: Tenant, query: Query = {}): Promise<HttpAnswer> {
  const answer = await get(tenant, query);
  assert.equal(answer.status, 200, answer.text.slice(0, 500));
  return answer;
}

const linesOf = (answer: HttpAnswer): string[] => {
  assert.ok(answer.text === '' || answer.text.endsWith('\n'));
  return answer.text.split('\n').slice(0, -1);
};

const loggedTime = / ?"logged_time":\d+ ?/g;

/** Reports only the first difference: two whole files would fill many screens. */
function sameTexts(actual: readonly string[], expected: readonly string[]): void {
  const at = expected.findIndex((text, n) => text !== actual[n]);
  if (at >= 0) assert.equal(actual[at], expected[at], `event ${at}`);
  assert.equal(actual.length, expected.length);
}

/** Events of all pages by limit and offset, without `logged_time`; large numbers keep their digits. */
async function walk(tenant: Tenant, query: Query, limit = 37): Promise<string[]> {
  const texts: string[] = [];
  for (;;) {
    const answer = await tenant.get({ ...query, limit: String(limit), offset: String(texts.length) });
    assert.equal(answer.status, 200);
    // One event a line: no event has a raw line break.
    const start = answer.text.indexOf('[') + 1;
    const data = answer.text.slice(start, answer.text.lastIndexOf(']')).trim();
    if (data === '') return texts;
    texts.push(...data.split(',\n').map((text) => text.replace(loggedTime, '')));
    const { meta } = JSON.parse(answer.text) as { meta: { total: number } };
    if (texts.length >= meta.total) return texts;
  }
}

const csvNames =
  'time,time_iso,activity_id,activity_name,severity,status,status_detail,message,actor_name,actor_email,actor_type,' +
  'src_ip,src_port,flow_id,target_name,file_name,extra_map';

/** Rows by a strict parser, which refuses stray quotation marks, other line ends and rows of another length. */
function csvRows(text: string): Record<string, string>[] {
  assert.equal(text.slice(0, text.indexOf('\r\n')), csvNames);
  const records = parse(text, { record_delimiter: '\r\n', relax_column_count: false });
  const [names = [], ...rows] = records;
  return rows.map((cells) => Object.fromEntries(names.map((name, n) => [name, cells[n] ?? ''])));
}

/** Characters invisible in a table: blanks, line ends, controls, direction marks, fillers, selectors. */
const invisible = Array.from(
  ' \n\v\f\u0001\u001b\u007f\u0085\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u180e\u2000\u2003\u200b\u200d\u200e' +
    '\u2028\u2029\u202e\u202f\u205f\u2060\u2800\u3000\u3164\ufe0f\ufeff\uffa0\u{e0020}',
);
interface Message {
  readonly target?: string | { readonly name?: string };
  readonly sender?: { readonly file?: string };
}

/** The expected cells of an event, from its rendering and its source; without `extra_map`. */
function cellsOf(event: AuditEvent, sent: Message): Record<string, string> {
  const text = (value: unknown) =>
    harmless(typeof value === 'string' || typeof value === 'number' ? String(value) : '');
  const target = typeof sent.target === 'string' ? sent.target : sent.target?.name;
  return {
    time: String(event.time),
    activity_id: text(event.activity_id),
    activity_name: text(event.activity_name),
    severity: event.severity,
    status: event.status,
    status_detail: text(event['status_detail']),
    message: text(event.message),
    actor_name: text(event.actor.user?.['name']),
    actor_email: text(event.actor.user?.['email_addr']),
    actor_type: text(event.actor.user?.['type']),
    src_ip: text(event.src_endpoint?.['ip']),
    src_port: text(event.src_endpoint?.['port']),
    flow_id: event.flow_id ?? '',
    target_name: text(target),
    file_name: text(sent.sender?.file),
  };
}

const filters = {
  start: '2024-01-01T00:00:00.000000Z',
  end: '2024-12-31T00:00:00Z',
  flowId: '5f0c3a52-7c1b-4ad0-8a2e-3f6f1f0f9a10',
  hash: 'ABCDEF0123',
};
const inYear = { startTime: filters.start, endTime: filters.end };

/** Difficult cells. */
const awkward = [
  'line\nbreak',
  'carriage\r\nreturn',
  'a "quoted" word',
  '"',
  '""',
  ',',
  'a,b',
  '=1+2',
  '+49 123',
  '-5',
  '@SUM(A1)',
  '\tindented',
  '\rreturned',
  "'quoted",
  'Отчёт за май.pdf',
  '第三四半期 報告書.xlsx',
  'تقرير',
  '👩‍👩‍👧 family',
  '\\',
  '\\"',
  '\\n',
  ' spaces ',
  '\u2028',
  '\u0001',
  '"message":"x"',
  ',"enrichments":[',
  ',"extra_map":{',
  '}',
  ';',
  '|',
  '\ufeff',
  ' =1+2',
  '\n=1+2',
  '\u00a0\u200b@SUM(A1)',
  '\u3000＝1＋2',
  '－1',
  'a =1',
  '\n\n',
];

const awkwardEvents = awkward.map((text, n) =>
  sourceEvent(
    {
      timestamp: `2024-03-01T00:00:${String(n).padStart(2, '0')}.000001Z`,
      actor: { id: `u-${n % 3}`, name: text, email: `person${n % 4}@acme.example`, type: 'User' },
      action: { code: 2001, title: text },
      target: n % 2 === 0 ? text : { name: text, id: 'x' },
      result: { title: text, description: text, code: n % 5 === 0 ? 500 : 200, detail: text },
      remote: { ip: n % 2 === 0 ? '192.0.2.7' : '2001:db8::7', port: 1000 + n },
      sender: { file: text, hash: n % 2 === 0 ? filters.hash : 'other' },
      extra: { [text]: text, n },
      ...(n < 5 && { flow_id: filters.flowId }),
    },
    n % 2 === 0 ? { level: 'WARN', msg: text } : { level: 'ERROR' },
  ),
);

describe('exports', () => {
  let server: SharedServer;
  let tenant: Tenant;
  before(async () => {
    server = await sharedServer();
    tenant = await createTenant(server, 'exporting');
    await tenant.record(awkwardEvents);
    // Minimal events, several at the same instant.
    await tenant.record(Array.from({ length: 60 }, () => sourceEvent()));
    await tenant.settled(awkward.length + 60);
  });

  test('each format equals a whole walk of the audit endpoint, with every filter', async () => {
    const queries: Query[] = [
      {},
      inYear,
      { actor: 'PERSON1@acme.example' },
      { userId: 'U-2' },
      { fileName: 'ОТЧЁТ за май.PDF' },
      { fileHash: filters.hash.toLowerCase() },
      { flowId: filters.flowId },
      { ...inYear, actor: 'person0@acme.example', fileHash: filters.hash },
      { startTime: 'never', flowId: 'none', endTime: filters.end },
    ];
    for (const query of queries) {
      // An export is an event, too, so unbounded ranges are compared up to now.
      const bounded: Query = 'endTime' in query ? query : { ...query, endTime: new Date().toISOString() };
      const expected = await walk(tenant, bounded);
      assert.ok(expected.length > 0, JSON.stringify(query));
      const ndjson = await exported(tenant, { format: 'ndjson', ...bounded });
      sameTexts(
        linesOf(ndjson).map((line) => line.replace(loggedTime, '')),
        expected,
      );
      const json = await exported(tenant, { format: 'json', ...bounded });
      const parsed = JSON.parse(json.text) as AuditEvent[];
      const array = `[${expected.join(',\n')}]\n`;
      assert.ok(json.text.replaceAll(loggedTime, '') === array, 'the array differs');
      assert.equal(new Set(parsed.map((event) => event.metadata.logged_time)).size, 1);
      const csv = await exported(tenant, { format: 'csv', ...bounded });
      assert.deepEqual(
        csvRows(csv.text).map((row) => row['time']),
        parsed.map((event) => String(event.time)),
      );
      for (const answer of [ndjson, json, csv])
        assert.equal(answer.headers['x-total-count'], String(expected.length));
    }
  });

  test('huge numbers keep their digits, also where only a producer could write them', async () => {
    const flow = randomUUID();
    const digits = '123456789012345678901234567890.12345678901234567890';
    const extra = `{"big":${digits},"int":18446744073709551617,"exp":1e300,"deep":{"a":[1,2,{"b":-0.0}]}}`;
    const text =
      `{"message":{"timestamp":"2024-05-06T07:08:09Z","action":2001,"flow_id":"${flow}",` +
      `"target":{"name":"a, \\"b\\"\\n.txt"},"sender":{"file":"=x 18446744073709551617"},"extra":${extra}}}`;
    assert.equal(acceptedOf(await tenant.post(text)).accepted, 1);
    await eventually('the event', async () =>
      (await tenant.page({ flowId: flow })).meta.total === 1 ? true : undefined,
    );
    const [row] = csvRows((await exported(tenant, { format: 'csv', flowId: flow })).text);
    assert.equal(row?.['extra_map'], extra);
    assert.equal(row?.['target_name'], 'a, "b"\n.txt');
    assert.equal(row?.['file_name'], "'=x 18446744073709551617");
    for (const format of ['ndjson', 'json']) {
      const { text: body } = await exported(tenant, { format, flowId: flow });
      assert.ok(body.includes(`"extra_map":${extra}`), body);
    }
  });

  test('CSV cells of any text and any extra survive (property)', { timeout: patience(60_000) }, async () => {
    const unit = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...Array.from('",\r\n\t=+-@\'\\ ;|{}[]:a')) },
      // Invisible characters before a formula do not make it harmless.
      { weight: 2, arbitrary: fc.constantFrom(...invisible, ...dangerous) },
      { weight: 1, arbitrary: fc.constantFrom(...awkward) },
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    );
    const cell = fc
      .array(unit, { maxLength: 12 })
      .map((units) => units.join(''))
      .filter((text) => !/[\0\p{Cs}]/u.test(text));
    const value = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        cell,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(namesOf(cell), tie('value'), { maxKeys: 3 }),
      ),
    })).value;
    const event = fc.record(
      {
        actor: fc.record({ name: cell, email: cell, type: cell }, { requiredKeys: [] }),
        target: fc.oneof(cell, fc.record({ name: cell, id: cell }, { requiredKeys: [] })),
        result: fc.record({ title: cell, description: cell, detail: cell }, { requiredKeys: [] }),
        sender: fc.record({ file: cell }, { requiredKeys: [] }),
        extra: fc.dictionary(namesOf(cell), value, { maxKeys: 4 }),
      },
      { requiredKeys: [] },
    );
    const redacted = /^(password|mfa_secret|otp|secret|token|authorization)$/i;
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 60 }), async (messages) => {
        const flow = randomUUID();
        const timed = messages.map((message, n) => ({
          action: 2001,
          ...message,
          flow_id: flow,
          timestamp: `2023-01-01T00:00:00.${String(n).padStart(6, '0')}Z`,
        }));
        await tenant.record(timed.map((message) => ({ message })));
        const page = await tenant.settled(timed.length, { flowId: flow });
        const rows = csvRows((await exported(tenant, { format: 'csv', flowId: flow })).text);
        assert.equal(rows.length, timed.length);
        for (const [n, row] of rows.entries()) {
          const { extra_map: extra = '', time_iso: iso, ...cells } = row;
          const message = timed[timed.length - 1 - n];
          assert.equal(iso, message?.timestamp);
          assert.deepEqual(cells, cellsOf(page.data[n] as AuditEvent, message as Message));
          const given = message?.extra ?? {};
          if (Object.keys(given).length === 0) assert.ok(extra === '' || extra === '{}');
          else if (!JSON.stringify(given).match(redacted))
            assert.deepEqual(JSON.parse(extra), JSON.parse(JSON.stringify(given)));
        }
      }),
      { numRuns: rounds(4, 12) },
    );
  });

  test('nothing found is a whole, empty file of each format', async () => {
    const none = { actor: 'nobody@acme.example' };
    for (const [format, body, type] of [
      ['ndjson', '', 'application/x-ndjson'],
      ['json', '[]\n', 'application/json'],
      ['csv', `${csvNames}\r\n`, 'text/csv; charset=utf-8; header=present'],
    ] as const) {
      const answer = await exported(tenant, { format, ...none });
      assert.deepEqual([answer.text, answer.headers['content-type']], [body, type]);
      assert.equal(answer.headers['x-total-count'], '0');
      assert.match(
        String(answer.headers['content-disposition']),
        new RegExp(`^attachment; filename="audit-exporting-\\d{8}T\\d{6}Z\\.${format}"$`),
      );
    }
    assert.equal((await exported(tenant, none)).text, '', 'NDJSON is the default');
    assert.equal((await exported(tenant, { orgId: randomUUID() })).text, '');
  });

  test('for Excel the file begins with a byte order mark, and truncated cells are counted', async () => {
    const flow = randomUUID();
    const long = 'ä'.repeat(32_767);
    await tenant.record([
      sourceEvent({ flow_id: flow, extra: { text: `${long}ä` } }),
      { ...sourceEvent({ flow_id: flow }), msg: long },
      { ...sourceEvent({ flow_id: flow, extra: { text: long } }), msg: `${long}ä` },
    ]);
    await tenant.caughtUp();
    const asked = { format: 'csv', flowId: flow };
    const [plain, marked] = [await exported(tenant, asked), await exported(tenant, { ...asked, bom: '1' })];
    assert.equal(marked.text, `\uFEFF${plain.text}`);
    const counts = [plain, marked].map(({ headers }) => [headers['x-total-count'], headers['x-long-cells']]);
    assert.deepEqual(counts, [
      ['3', undefined],
      ['3', '3'],
    ]);
    const none = await exported(tenant, { format: 'csv', bom: '1', actor: 'nobody@acme.example' });
    assert.deepEqual([none.text, none.headers['x-long-cells']], [`\uFEFF${csvNames}\r\n`, '0']);
    for (const query of [
      { format: 'json', bom: '1' },
      { format: 'csv', bom: 'yes' },
    ])
      assert.match(problemOf(await get(tenant, query), 400).detail, /"bom" must be 0, or 1 with format=csv/);
  });

  test('an unknown format is refused by name', async () => {
    for (const format of ['xml', 'NDJSON', 'parquet', 'ndjson,csv']) {
      const { detail } = problemOf(await get(tenant, { format }), 400);
      assert.match(detail, /"format".*ndjson.*json.*csv/);
    }
  });

  test('one snapshot: while events come in, the total is the number of lines', async () => {
    const busy = await createTenant(server, 'busy');
    const over = new AbortController();
    const writer = async () => {
      for (let n = 0; !over.signal.aborted; n++) {
        const month = String((n % 12) + 1).padStart(2, '0');
        await busy.record(
          Array.from({ length: 20 }, () => sourceEvent({ timestamp: `2022-${month}-01T00:00:00Z` })),
        );
        // More reads do not reach the engine sooner.
        await sleep(flushMs / 2);
      }
    };
    const writers = Promise.all([writer(), writer()]);
    try {
      const totals: number[] = [];
      const hasGrown = () => (totals.at(-1) ?? 0) > (totals[0] ?? 0);
      // Until events have come in: on a busy machine some exports are faster than that.
      for (let n = 0; n < rounds(6, 30) || (!hasGrown() && n < 1_000); n++) {
        for (const format of ['ndjson', 'csv']) {
          const answer = await exported(busy, { format });
          const count = format === 'csv' ? csvRows(answer.text).length : linesOf(answer).length;
          assert.equal(String(count), answer.headers['x-total-count']);
          totals.push(count);
        }
        await sleep(20);
      }
      assert.ok(hasGrown(), 'nothing came in meanwhile');
      assert.deepEqual(
        totals,
        totals.toSorted((a, b) => a - b),
      );
    } finally {
      over.abort();
      await writers;
    }
  });
});
