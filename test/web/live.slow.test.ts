import { strict as assert } from 'node:assert';
import { afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createUser } from '../e2e/session-support.ts';
import { patience } from '../support/patience.ts';
import { createTenant, sourceEvent, type Tenant } from '../support/server.ts';
import { assertAccessibleInBoth, sharedPage, type SharedPage, untilTrue, withoutBrowser } from './support.ts';

/** What is new, and what time it is: by the server, and in the zone of each row. */

const all = '#/events?range=all&actor=tail@a.example';
const settled = (page: Page, words: string) => page.locator('.total', { hasText: words }).waitFor();

let shared: SharedPage;
let tenant: Tenant;

const event = (timestamp: string | number, msg = 'said') =>
  sourceEvent({ timestamp, actor: { email: 'tail@a.example' } }, { msg });
const now = () => new Date().toISOString();

describe('what is new on the web page', { skip: withoutBrowser() }, () => {
  before(async () => {
    shared = await sharedPage();
    tenant = await createTenant(shared.server, 'tail');
    await tenant.record(Array.from({ length: 60 }, (_, n) => event(`2024-10-26T23:${10 + (n % 50)}:00Z`)));
    await tenant.record(Array.from({ length: 60 }, (_, n) => event(`2024-10-27T01:${10 + (n % 50)}:00Z`)));
    await tenant.settled(120, { actor: 'tail@a.example' });
    await createUser(shared.server, 'tail', 'auditor', 'tim@a.example');
  });
  afterEach(() => shared.closeVisits());

  test('is counted exactly, however many came at once and whenever they happened', async () => {
    const page = await shared.open('tim@a.example', all);
    await settled(page, '120 events');
    let release = () => {};
    const recorded = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/portal/{rows?*since=*,feed*}', async (route) => {
      await recorded;
      await route.continue();
    });
    await tenant.record(Array.from({ length: 1_500 }, () => event(now())));
    await tenant.record([event('2024-01-01T00:00:00Z')]);
    await tenant.settled(1_621, { actor: 'tail@a.example' });
    release();
    const button = page.locator('.filter-bar .live');
    await button.waitFor();
    assert.match(String(await button.textContent()), /^1,501 new events/);
    await button.click();
    await settled(page, '1,621 events');
  });

  test('is followed by the list, but for who reads further down', async () => {
    const page = await shared.open('tim@a.example', all);
    await settled(page, '1,621 events');
    await page.keyboard.press('f');
    const button = page.locator('.filter-bar [aria-keyshortcuts=f]');
    assert.equal(await button.textContent(), 'Following');
    await tenant.record([event(now(), 'first of the tail')]);
    await page.locator('#event-0', { hasText: 'first of the tail' }).waitFor();
    await settled(page, '1,622 events');
    await page.locator('[role=grid]').press('PageDown');
    await page.locator('[role=grid]').press('PageDown');
    await button.getByText('Paused').waitFor();
    const top = await page.locator('.row[aria-selected]').first().getAttribute('id');
    await tenant.record([event(now()), event(now(), 'last of the tail')]);
    await page.getByRole('button', { name: '2 new events: show' }).waitFor();
    assert.equal(await page.locator('.row[aria-selected]').first().getAttribute('id'), top);
    await assertAccessibleInBoth(page);
    await page.keyboard.press('f');
    await page.locator('#event-0', { hasText: 'last of the tail' }).waitFor();
    await settled(page, '1,624 events');
    await page.keyboard.press('f');
    assert.equal(await button.textContent(), 'Follow');
  });

  test('is counted to the end, by bars and lists as well, however soon the last event came', async () => {
    const page = await shared.open('tim@a.example', all);
    await settled(page, '1,624 events');
    await page.locator('.facets button').first().waitFor();
    await page.keyboard.press('f');
    for (const total of ['1,625', '1,626']) {
      await tenant.record([event(now())]);
      await settled(page, `${total} events`);
    }
    const last = { timeout: patience(30_000) };
    await page.locator('.facets button', { hasText: 'tail@a.example1,626' }).waitFor(last);
    await page.getByRole('application', { name: /^1,626 events over time/ }).waitFor(last);
    assert.equal(await page.locator('[data-stale=true]').count(), 0);
  });

  test('says when it cannot follow, and goes on by itself', async () => {
    const page = await shared.open('tim@a.example', all);
    await settled(page, '1,626 events');
    await page.keyboard.press('f');
    const button = page.locator('.filter-bar [aria-keyshortcuts=f]');
    await button.getByText('Following', { exact: true }).waitFor();
    // Counts that were still asked for would stay stale without a connection.
    await untilTrue(page, 'document.querySelector(\'[data-stale="true"]\') === null');
    await page.context().setOffline(true);
    await button.getByText('Not following: no connection').waitFor();
    await assertAccessibleInBoth(page);
    await page.context().setOffline(false);
    await button.getByText('Following', { exact: true }).waitFor();
  });

  test('has none of the future, which no list that ends now would show', async () => {
    const page = await shared.open('tim@a.example', '#/events?range=1h&actor=ahead@a.example');
    await page.getByText('No events match.').waitFor();
    const ahead = (ms: number) =>
      sourceEvent({ timestamp: new Date(Date.now() + ms).toISOString(), actor: 'ahead@a.example' });
    await tenant.record([ahead(3_600_000), ahead(3_600_000), ahead(0)]);
    await page.getByRole('button', { name: '1 new event: show' }).click();
    await settled(page, '1 event');
  });

  test('is of the server’s clock, whatever the browser’s says', async () => {
    const page = await shared.open('tim@a.example', '#/receipts');
    await page.clock.install({ time: Date.now() + 5 * 86_400_000 });
    await page.goto(`${shared.server.url}/#/events?actor=tail@a.example`);
    await page.reload();
    await settled(page, '1,505 events');
    await page.clock.setSystemTime(Date.now() - 5 * 86_400_000);
    await page.reload();
    await settled(page, '1,505 events');
  });

  test('has the zone of its time: rows on both sides of a change of the clocks have two', async () => {
    const page = await shared.open(
      'tim@a.example',
      `${all}&to=2024-10-27T01:11:30Z&from=2024-10-26T00:00:00Z`,
    );
    const head = page.locator('.head .when');
    await settled(page, '64 events');
    await head.getByText('Time (CET, CEST)').waitFor();
    await page.locator('[role=grid]').press('End');
    await head.getByText('Time (CEST)').waitFor();
    const first = page.locator('.row[aria-selected] .when').first();
    assert.match(String(await first.getAttribute('title')), /27 Oct 2024, 01:\d\d:00\.000000 CEST/);
  });
});
