import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { createExportReader } from '../../src/read/export.ts';
import { readFilter } from '../../src/read/filter.ts';
import { QueryParameters } from '../../src/read/parameters.ts';
import { openStorage } from '../../src/storage/client.ts';
import { readEngineFile } from '../../src/storage/engine-file.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { hiddenNames } from '../fuzz/model.ts';
import { elementsOf } from '../simulator/checks/json-elements.ts';
import { Draw } from '../simulator/draw.ts';
import { idIn, type Kind, makeEvent } from '../simulator/events.ts';
import { drawFilters, type Facts, factsOf } from './filter-model.ts';
import { ModelOrganization } from '../simulator/model.ts';
import { silentLog } from '../support/engine.ts';
import { acceptedOf } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import { rounds } from '../support/rounds.ts';
import { createTenant, type Tenant } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';

/**
 * Random events and filters against the model of the simulator. Set FC_SEED to repeat a run. Large events fill
 * granules of their own between those of others, and the engine merges between queries.
 */
const seed = Number(process.env['FC_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const draw = new Draw(seed);
const eventsPerBatch = 70;
/** Three granules, in bodies that the shared service accepts. */
const largeEvents = 35;
const largePerBody = 7;
const queries = rounds(60, 1_000);
const queriesBetweenMerges = queries / 4;
const wholePage = 1_000;
/** The first day of the numbers, a leap day, and the last day. */
const days = [Date.UTC(1973, 2, 4) * 1000, Date.UTC(2000, 1, 29) * 1000, Date.UTC(2199, 11, 31) * 1000];

let tenant: Tenant;
/** The service's engine; undefined with a ClickHouse server. */
let storage: Storage | undefined;
/** In the order of ingest. */
const recorded: { readonly id: string | undefined; readonly facts: Facts }[] = [];

before(async () => {
  const server = await sharedServer();
  const connection = await readEngineFile(server.dataDir);
  storage = connection && openStorage(connection, silentLog);
  const stranger = await createTenant(server, 'stranger');
  tenant = await createTenant(server, 'model');
  const { id, slug } = tenant.organization;
  const model = new ModelOrganization(slug, id, hiddenNames());
  // The events of making the organization, oldest first.
  for (const event of (await tenant.own()).toReversed())
    recorded.push({ id: undefined, facts: factsOf(model, JSON.stringify(event), '{}') });
  let batch = 0;
  const record = async (
    tenants: readonly Tenant[],
    beganMicros: number,
    kinds: readonly Kind[],
    count: number,
  ) => {
    const shared = { organization: model, batch: batch++, beganMicros, ageDays: 0 };
    const events = Array.from({ length: count }, (_, index) =>
      makeEvent(draw, draw.pick(kinds), { ...shared, index }),
    );
    const body = `[${events.map(({ text }) => text).join()}]`;
    for (const one of tenants) assert.equal(acceptedOf(await one.post(body)).accepted, count);
    for (const event of events) {
      const { source, expected } = model.shown(event);
      recorded.push({ id: event.id, facts: factsOf(model, expected.audit, source) });
    }
  };
  // Another organization has the same events; none may be shown.
  for (const day of days) await record([tenant, stranger], day, ['plain', 'rich'], eventsPerBatch);
  const largeDay = draw.pick(days);
  for (let sent = 0; sent < largeEvents; sent += largePerBody)
    await record([tenant], largeDay, ['large'], Math.min(largePerBody, largeEvents - sent));
  await tenant.settled(days.length * eventsPerBatch + largeEvents);
});

after(() => storage?.close());

/** The total of an export that bypasses the service, which would record it as an event. */
async function totalOfExport(parameters: string): Promise<number | undefined> {
  if (storage === undefined) return undefined;
  const filter = readFilter(new QueryParameters(new URLSearchParams(parameters)), tenant.organization);
  const read = createExportReader(storage, { head: '{', tail: '}' });
  const { organization } = tenant;
  const answer = await read(organization.id, { filter, format: 'ndjson' }, 0, AbortSignal.timeout(20_000));
  answer.stream.destroy();
  return answer.total;
}

test(`random filters, pages and totals agree with the model (FC_SEED=${seed})`, {
  timeout: patience(90_000),
}, async () => {
  const newestFirst = recorded.toReversed().sort((one, two) => two.facts.micros - one.facts.micros);
  const all = newestFirst.map(({ facts }) => facts);
  let hits = 0;
  for (let n = 0; n < queries; n++) {
    if (n % queriesBetweenMerges === 1) await storage?.command('OPTIMIZE TABLE events FINAL');
    const { parameters, selects } = drawFilters(draw, all);
    const matching = newestFirst.filter(({ facts }) => selects(facts)).map(({ id }) => id);
    const pages = [
      [draw.pick([1, 7, 50]), draw.pick([0, 0, 1, 5, 60])],
      [wholePage, 0],
    ] as const;
    for (const [limit, offset] of pages) {
      const { text } = await tenant.get(`${parameters}&limit=${limit}&offset=${offset}`);
      const shown = elementsOf(text, '"data":[').map(idIn);
      assert.deepEqual(shown, matching.slice(offset, offset + limit), parameters);
      const { total } = (JSON.parse(text) as { meta: { total: number } }).meta;
      assert.equal(total, matching.length, parameters);
    }
    assert.equal((await totalOfExport(parameters)) ?? matching.length, matching.length, parameters);
    if (matching.length > 0) hits++;
  }
  assert.ok(hits > queries / 3, `only ${hits} of ${queries} queries had matches`);
});
