import { strict as assert } from 'node:assert';
import { isUtf8 } from 'node:buffer';
import { parse as parseCsv } from 'csv-parse/sync';
import { createUser, type SignedIn, signIn } from '../e2e/session-support.ts';
import { call } from '../support/http.ts';
import { createTenant, startServer, type Tenant, type TestServer } from '../support/server.ts';
import { type Expected, expectedOf, hiddenNames, type ModelOptions } from './model.ts';
import { meaning, memberOf, type Node, parseTree, printTree } from './tree.ts';

/** A running service, and a model of what it must give back of the events that it accepted. */

const names = { appName: 'App "A"', vendorName: 'Vendor', productName: 'Product é' };
const readMsMax = 60_000;

/** Events of one batch have their place in time, so that reads of it see nothing of the others. */
export interface Stretch {
  /** Unix microseconds. */
  readonly fromMicros: number;
  readonly lengthMicros: number;
}

const hourMicros = 3_600_000_000;

/** The hour of a batch; hours of growing numbers follow each other. */
export function hourOf(batch: number): Stretch {
  return { fromMicros: 1_000_000_000_000_000 + batch * hourMicros, lengthMicros: hourMicros };
}

type Way = (start: string, end: string) => Promise<readonly string[]>;

export class EventsService {
  readonly #tenant: Tenant;
  readonly #auditor: SignedIn;
  readonly #options: ModelOptions;
  /** Accepted events outside of the hour of their batch: they are part of any read of their time. */
  readonly #strays: Expected[] = [];
  /** The rendering of the neighbour, time and logged_time aside. */
  #neighbourText: string | undefined;
  #cursor = '';

  static readonly actor = 'zoe@fuzz.example';

  private constructor(tenant: Tenant, auditor: SignedIn, options: ModelOptions) {
    this.#tenant = tenant;
    this.#auditor = auditor;
    this.#options = options;
  }

  /** A server for these services, with names to redact beside the usual ones. */
  static startServer(redactKeys: string): Promise<TestServer> {
    const { appName, vendorName, productName } = names;
    return startServer({
      env: {
        APP_NAME: appName,
        VENDOR_NAME: vendorName,
        PRODUCT_NAME: productName,
        RATE_LIMIT_TENANT: 'off',
        RATE_LIMIT_LOGIN: 'off',
        FLUSH_INTERVAL: '5ms',
        ...(redactKeys === '' ? {} : { REDACT_KEYS: redactKeys }),
      },
    });
  }

  /** An organization of its own on a server, and somebody who may read everything of it. */
  static async open(server: TestServer, redactKeys: string, slug: string): Promise<EventsService> {
    const tenant = await createTenant(server, slug);
    await createUser(server, slug, 'auditor', EventsService.actor);
    const auditor = await signIn(server, EventsService.actor, { organization: slug });
    return new EventsService(tenant, auditor, { hides: hiddenNames(redactKeys), ...names });
  }

  /**
   * Records a batch, a neighbour before and after each event, and holds every way out against the model. Throws when
   * one differs, or when a neighbour is refused. `events` are texts, perhaps damaged.
   */
  async check(events: readonly Buffer[], stretch: Stretch): Promise<void> {
    const neighbour = Buffer.from(neighbourOf(stretch));
    const sent = [neighbour, ...events.flatMap((event) => [event, neighbour])];
    const isJson = sent.map(jsonOf);
    const spaced = sent.filter((_, at) => isJson[at] !== undefined && at % 4 < 2);
    // A blank line is no event, and not counted as one.
    const lines = sent
      .filter((_, at) => isJson[at] === undefined || at % 4 >= 2)
      .map(withoutNewlines)
      .filter((line) => line.toString('latin1').trim() !== '');
    const batch: Expected[] = [];
    for (const [bodies, body, type] of [
      [spaced, join(spaced, '[', ',', ']'), 'application/json'],
      [lines, join(lines, '', '\n', '\n'), 'application/x-ndjson'],
    ] as const) {
      const refused = await this.#send(body, type);
      for (const [index, bytes] of bodies.entries()) {
        const error = refused.get(index);
        if (error === undefined) batch.push(this.#expected(bytes));
        else assert.ok(!bytes.equals(neighbour), `refused: ${error}\n${bytes.toString()}`);
      }
    }
    await this.#checkFeed(batch);
    await this.#checkRanges(batch, stretch);
    await this.#checkReceipts(batch, stretch);
  }

  #expected(bytes: Buffer): Expected {
    const tree = jsonOf(bytes);
    if (tree === undefined) throw new Error(`accepted, and no JSON: ${bytes.toString('latin1')}`);
    return expectedOf(tree, this.#options);
  }

  /** The rejected events of a body: index and why. */
  async #send(body: Buffer, type: string): Promise<Map<number, string>> {
    const url = `${this.#tenant.server.url}/api/v1/audit?maxErrors=10000`;
    const headers = { 'x-api-key': this.#tenant.key, 'content-type': type };
    const answer = await call(url, { method: 'POST', headers, body, timeoutMs: readMsMax });
    assert.ok([202, 400].includes(answer.status), `${answer.status}: ${answer.text.slice(0, 500)}`);
    const { errors = [] } = JSON.parse(answer.text) as { errors?: { index: number; error: string }[] };
    assert.ok(answer.status === 202 || errors.length > 0, `the whole body was refused: ${answer.text}`);
    return new Map(errors.map(({ index, error }) => [index, error]));
  }

  async #get(path: string, query: Readonly<Record<string, string>>): Promise<string> {
    const url = `${this.#tenant.server.url}${path}?${new URLSearchParams(query).toString()}`;
    const headers = { 'x-api-key': this.#tenant.key, cookie: this.#auditor.cookie };
    const answer = await call(url, { headers, timeoutMs: readMsMax });
    assert.equal(answer.status, 200, `${path}: ${answer.text.slice(0, 500)}`);
    return answer.text;
  }

  /** The feed gives the batch in its order, whatever the service recorded of itself in between. */
  async #checkFeed(batch: readonly Expected[]): Promise<void> {
    const deadline = performance.now() + readMsMax;
    for (let next = 0; next < batch.length; ) {
      assert.ok(performance.now() < deadline, `the feed stands still at ${next} of ${batch.length}`);
      const text = await this.#get('/api/v1/audit/feed', { cursor: this.#cursor, limit: '10000', wait: '5' });
      const answer = treeOf('feed', text);
      for (const event of itemsOf(memberOf(answer, 'data'))) {
        const shown = auditOf(event);
        if (shown === meaningOf(batch[next]?.audit)) {
          this.#checkNeighbour(event, batch[next] as Expected);
          next += 1;
        } else if (!isOwn(event)) differ('feed', shown, meaningOf(batch[next]?.audit));
      }
      this.#cursor = String(JSON.parse(text).meta.next_cursor);
    }
  }

  /** Each rendering of the neighbour is the first one to the byte, whoever stands beside it. */
  #checkNeighbour(event: Node, expected: Expected): void {
    if (!expected.source.includes(neighbourFlow)) return;
    const text = printTree(event).replace(/"(time|logged_time)":\d+/g, '"$1":0');
    this.#neighbourText ??= text;
    if (text !== this.#neighbourText) differ('a neighbour', text, this.#neighbourText);
  }

  async #checkRanges(batch: readonly Expected[], stretch: Stretch): Promise<void> {
    const end = stretch.fromMicros + stretch.lengthMicros - 1;
    const isInside = ({ micros }: Expected): boolean => micros >= stretch.fromMicros && micros <= end;
    const before = this.#strays.filter(isInside);
    const strays = batch.filter((event) => !isInside(event));
    this.#strays.push(...strays);
    await this.#checkRange([...before, ...batch.filter(isInside)], stretch.fromMicros, end);
    for (const micros of new Set(strays.map((event) => event.micros))) {
      await this.#checkRange(
        this.#strays.filter((event) => event.micros === micros),
        micros,
        micros,
      );
    }
  }

  /** Every way out of a range of time, in which the service recorded nothing of itself. */
  async #checkRange(events: readonly Expected[], fromMicros: number, toMicros: number): Promise<void> {
    const newestFirst = events.toReversed().sort((one, two) => two.micros - one.micros);
    const [start, end] = [isoText(fromMicros), isoText(toMicros)];
    const audits = newestFirst.map(({ audit }) => meaningOf(audit));
    for (const [name, way, expected] of [
      ['page', this.#page, audits],
      ['NDJSON export', this.#exportLines, audits],
      ['JSON export', this.#exportArray, audits],
      ['source events', this.#sources, newestFirst.map(({ source }) => source)],
    ] as const satisfies readonly (readonly [string, Way, readonly string[]])[]) {
      const shown = await way(start, end);
      for (const [at, one] of expected.entries()) if (shown[at] !== one) differ(name, shown[at], one);
      assert.equal(shown.length, expected.length, `${name}: more than was sent`);
    }
    await this.#checkCsv(newestFirst, start, end);
  }

  async #checkCsv(newestFirst: readonly Expected[], startTime: string, endTime: string): Promise<void> {
    const text = await this.#get('/api/v1/audit/export', { startTime, endTime, format: 'csv' });
    const rows = parseCsv<Record<string, string>>(text, { columns: true, record_delimiter: '\r\n' });
    for (const [at, { csv, isAmbiguous }] of newestFirst.entries()) {
      const unknown = isAmbiguous ? { target_name: '?', file_name: '?' } : {};
      const [shown, expected] = [
        { ...rows[at], ...unknown },
        { ...csv, ...unknown },
      ].map((row) => JSON.stringify(row));
      if (shown !== expected) differ('CSV export', shown, expected);
    }
    assert.equal(rows.length, newestFirst.length, 'CSV export: more than was sent');
  }

  #page: Way = async (startTime, endTime) => {
    const answer = treeOf('page', await this.#get('/api/v1/audit', { startTime, endTime, limit: '1000' }));
    return itemsOf(memberOf(answer, 'data')).map(auditOf);
  };

  #exportLines: Way = async (startTime, endTime) => {
    const text = await this.#get('/api/v1/audit/export', { startTime, endTime, format: 'ndjson' });
    const lines = text.split('\n').filter((line) => line !== '');
    return lines.map((line) => auditOf(treeOf('NDJSON export', line)));
  };

  #exportArray: Way = async (startTime, endTime) => {
    const text = await this.#get('/api/v1/audit/export', { startTime, endTime, format: 'json' });
    return itemsOf(treeOf('JSON export', text)).map(auditOf);
  };

  /** The bytes of each, as the producer sent them. */
  #sources: Way = async (startTime, endTime) => {
    const path = '/api/v1/dashboard/organization/get-events-in-org';
    const answer = treeOf('source events', await this.#get(path, { startTime, endTime }));
    return itemsOf(memberOf(answer, 'data')).map((event) => printTree(event));
  };

  async #checkReceipts(batch: readonly Expected[], stretch: Stretch): Promise<void> {
    const text = await this.#get('/api/v1/portal/receipts', { limit: '1000' });
    const [from, to] = [isoText(stretch.fromMicros), isoText(stretch.fromMicros + stretch.lengthMicros)];
    const isInside = (receipt: Readonly<Record<string, string>>): boolean => {
      const time = JSON.parse(receipt['started_at'] ?? receipt['completed_at'] ?? '""') as string;
      return time >= from && time < to;
    };
    const expected = [...this.#strays, ...batch]
      .toReversed()
      .sort((one, two) => two.micros - one.micros)
      .filter(({ receipt }) => receipt?.actorEmail === EventsService.actor && isInside(receipt.shown));
    const shown = itemsOf(memberOf(treeOf('receipts', text), 'data'))
      .map(fieldsOf)
      .filter(isInside);
    for (const [at, { receipt, isAmbiguous }] of expected.entries()) {
      const unknown = isAmbiguous ? { file_name: '0', file_size: '0', destination: '0' } : {};
      const [given, sent] = [
        { ...shown[at], ...unknown },
        { ...receipt?.shown, ...unknown },
      ].map(canonical);
      if (given !== sent) differ('receipts', given, sent);
    }
    assert.equal(shown.length, expected.length, 'receipts: more than was sent');
  }
}

const neighbourFlow = '5b6f0f1e-7c53-4b39-9a57-5e0f6f8b6f10';

function neighbourOf({ fromMicros }: Stretch): string {
  const message = {
    timestamp: fromMicros + 7,
    action: { code: 1001, title: 'neighbour "n"' },
    actor: { name: 'Nächster', email: 'N@x.example' },
    flow_id: neighbourFlow,
    extra: { a: [1, '\\', { otp: '1' }], token: '', z: 'end' },
  };
  return JSON.stringify({ message });
}

/** The tree of an event, unless it is no JSON or no UTF-8. */
function jsonOf(bytes: Buffer): Node | undefined {
  if (!isUtf8(bytes)) return undefined;
  try {
    return parseTree(bytes.toString());
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function withoutNewlines(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte) => (byte === 0x0a ? 0x20 : byte)));
}

function join(bodies: readonly Buffer[], before: string, between: string, after: string): Buffer {
  const pieces = bodies.flatMap((body, at) => (at === 0 ? [body] : [Buffer.from(between), body]));
  return Buffer.concat([Buffer.from(before), ...pieces, Buffer.from(after)]);
}

function treeOf(way: string, text: string): Node {
  try {
    return parseTree(text);
  } catch (error) {
    throw new Error(`${way} is no JSON: ${String(error)}`, { cause: error });
  }
}

function itemsOf(node: Node | undefined): readonly Node[] {
  if (node?.kind !== 'list') throw new Error('a list is missing from an answer');
  return node.items;
}

/** What an audit event says, `metadata.logged_time` aside: that is when it was read. */
function auditOf(event: Node): string {
  return meaning(event).replace(/"logged_time":\d+,/, '');
}

function meaningOf(audit: string | undefined): string {
  return audit === undefined ? 'nothing' : meaning(parseTree(audit));
}

/** What the service records of itself has the time of the test, and an actor or an action of its own. */
function isOwn(event: Node): boolean {
  const time = memberOf(event, 'time');
  return time?.kind === 'leaf' && Math.abs(Number(time.value) / 1000 - Date.now()) < 3_600_000;
}

function fieldsOf(node: Node): Readonly<Record<string, string>> {
  const members = node.kind === 'object' ? node.members : [];
  return Object.fromEntries(members.map(({ name, value }) => [name, printTree(value)]));
}

function canonical(fields: Readonly<Record<string, string>>): string {
  const entries = Object.entries(fields).map(([name, token]) => [name, JSON.parse(token) as unknown]);
  return JSON.stringify(
    Object.fromEntries(entries.sort(([one], [two]) => (String(one) < String(two) ? -1 : 1))),
  );
}

function isoText(micros: number): string {
  const millis = Math.floor(micros / 1000);
  return new Date(millis).toISOString().replace('Z', `${String(micros - millis * 1000).padStart(3, '0')}Z`);
}

function differ(way: string, shown: string | undefined, expected: string | undefined): never {
  assert.equal(shown, expected, `${way} shows another event than was sent`);
  throw new Error(`${way} differs`);
}
