import { strict as assert } from 'node:assert';
import { before, test } from 'node:test';
import { hiddenNames } from '../fuzz/model.ts';
import { elementsOf } from '../simulator/checks/json-elements.ts';
import { Draw } from '../simulator/draw.ts';
import { idIn, makeEvent } from '../simulator/events.ts';
import { drawFilters, type Facts, factsOf } from '../simulator/filters.ts';
import { ModelOrganization } from '../simulator/model.ts';
import { acceptedOf } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import { rounds } from '../support/rounds.ts';
import { createTenant, type Tenant } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';

/**
 * Drawn events and drawn filters against the model of the simulator, which has them beside everything else. Set FC_SEED to
 * repeat a run.
 */
const seed = Number(process.env['FC_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const draw = new Draw(seed);
const batches = 3;
const eventsPerBatch = 70;
const queries = rounds(120, 1_000);
/** The first day that has a number, a leap day, and the last day. */
const days = [Date.UTC(1973, 2, 4) * 1000, Date.UTC(2000, 1, 29) * 1000, Date.UTC(2199, 11, 31) * 1000];

let tenant: Tenant;
/** In the order of ingest. */
const recorded: { readonly id: string | undefined; readonly facts: Facts }[] = [];

before(async () => {
  const server = await sharedServer();
  const stranger = await createTenant(server, 'stranger');
  tenant = await createTenant(server, 'model');
  const { id, slug } = tenant.organization;
  const model = new ModelOrganization(slug, id, hiddenNames());
  // Those that the organization began with, the oldest first.
  for (const event of (await tenant.own()).toReversed())
    recorded.push({ id: undefined, facts: factsOf(model, JSON.stringify(event), '{}') });
  for (const [batch, beganMicros] of days.entries()) {
    const events = Array.from({ length: eventsPerBatch }, (_, index) =>
      makeEvent(draw, draw.pick(['plain', 'rich']), {
        organization: model,
        batch,
        index,
        beganMicros,
        ageDays: 0,
      }),
    );
    const body = `[${events.map(({ text }) => text).join()}]`;
    // Another organization says the same; none of it may ever be seen.
    for (const one of [tenant, stranger])
      assert.equal(acceptedOf(await one.post(body)).accepted, eventsPerBatch);
    for (const event of events) {
      const { source, expected } = model.shown(event);
      recorded.push({ id: event.id, facts: factsOf(model, expected.audit, source) });
    }
  }
  await tenant.settled(batches * eventsPerBatch);
});

test(`random filters and pages agree with the model (FC_SEED=${seed})`, {
  timeout: patience(90_000),
}, async () => {
  const newestFirst = recorded.toReversed().sort((one, two) => two.facts.micros - one.facts.micros);
  const all = newestFirst.map(({ facts }) => facts);
  let hits = 0;
  for (let n = 0; n < queries; n++) {
    const { parameters, selects } = drawFilters(draw, all);
    const matching = newestFirst.filter(({ facts }) => selects(facts)).map(({ id }) => id);
    const [limit, offset] = [draw.pick([1, 7, 50, 1000]), draw.pick([0, 0, 1, 5, 60])];
    const { text } = await tenant.get(`${parameters}&limit=${limit}&offset=${offset}`);
    const shown = elementsOf(text, '"data":[').map(idIn);
    assert.deepEqual(shown, matching.slice(offset, offset + limit), parameters);
    assert.equal((JSON.parse(text) as { meta: { total: number } }).meta.total, matching.length, parameters);
    if (matching.length > 0) hits++;
  }
  assert.ok(hits > queries / 3, `only ${hits} of ${queries} queries found anything`);
});
