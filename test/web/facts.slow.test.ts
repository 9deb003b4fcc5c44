import { strict as assert } from 'node:assert';
import { afterEach, before, describe, test } from 'node:test';
import { createUser, password } from '../e2e/session-support.ts';
import { createTenant, sourceEvent, type Tenant } from '../support/server.ts';
import { sharedPage, type SharedPage, withoutBrowser } from './support.ts';

/** 2024-05-06T00:00:00Z */
const start = Date.UTC(2024, 4, 6) * 1000;
const ada = 'ada@facts.example';

let shared: SharedPage;
let tenant: Tenant;

describe('what the web page says is true', { skip: withoutBrowser() }, () => {
  before(async () => {
    shared = await sharedPage();
    const { server } = shared;
    tenant = await createTenant(server, 'facts');
    await createTenant(server, 'other-facts');
    await createUser(server, 'facts', 'admin', ada);
    await createUser(server, 'other-facts', 'admin', 'bob@facts.example');
    await tenant.record([sourceEvent({ timestamp: start })]);
  });
  afterEach(() => shared.closeVisits());

  test('a page says that another session has begun in its browser, and does nothing more in the wrong one', async () => {
    const page = await shared.open(ada, '#/events?range=all');
    await page.locator('.total', { hasText: 'event' }).waitFor();
    const second = await page.context().newPage();
    await second.goto(shared.server.url);
    await second.evaluate(
      `fetch('/api/v1/auth/login-handler', { method: 'POST', headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ email: 'bob@facts.example', password: ${JSON.stringify(password)} }) })`,
    );
    await page.getByRole('link', { name: 'API keys' }).click();
    const dialog = page.getByRole('dialog', { name: 'Somebody else has signed in' });
    await dialog.waitFor();
    assert.equal(await page.locator('.brand').textContent(), 'Org facts');
    await dialog.getByRole('button', { name: 'Load the page anew' }).click();
    await page.locator('.brand', { hasText: 'Org other-facts' }).waitFor();
  });

  test('code that could not be loaded is asked for again once there is a connection, or is said to be of another page', async () => {
    const page = await shared.open(ada, '#/receipts');
    await page.getByText('No transfers yet.').waitFor();
    await page.route('**/assets/*.js', (route) => route.abort());
    await page.route('**/healthz', (route) => route.abort());
    await page.getByRole('link', { name: 'Events', exact: true }).click();
    await page.getByText('No connection to the server.').waitFor();
    await page.unroute('**/healthz');
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByText('There may be a newer version of the page.').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Load the page anew' }).click();
    await page.getByRole('grid').waitFor();
  });
});
