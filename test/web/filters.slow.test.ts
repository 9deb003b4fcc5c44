import { strict as assert } from 'node:assert';
import { afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createUser } from '../e2e/session-support.ts';
import { eventually } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import { createTenant, sourceEvent } from '../support/server.ts';
import type { Schemas } from '../../schema/openapi.d.ts';
import { assertAccessibleInBoth, sharedPage, type SharedPage, withoutBrowser } from './support.ts';

/** Filters of the events, in a browser: several values, what is excluded, addresses, words. */

/** 2024-05-06T00:00:00Z */
const start = Date.UTC(2024, 4, 6) * 1000;
const ofThen = '#/events?range=all&to=2024-12-31T00:00:00Z';
/** What somebody and an activity were called, from a day on. */
const names = [
  ['2025-05-06', 'Ada Byron', 'Draft shared'],
  ['2025-05-07', 'Ada Lovelace', 'Draft published'],
] as const;
/** Waits for the count; where it does not come, what the page shows instead says why. */
const settled = (page: Page, count: string) =>
  page
    .locator('.total', { hasText: count })
    .waitFor()
    .catch(async (cause: unknown) => {
      const shown = await page.locator('main').innerText();
      throw new Error(`no "${count}" at ${page.url()}, but: ${shown.slice(0, 2000)}`, { cause });
    });
const rows = (page: Page) => page.locator('.row[aria-selected]');

let shared: SharedPage;

describe('filters of the web page', { skip: withoutBrowser() }, () => {
  before(async () => {
    shared = await sharedPage();
    const tenant = await createTenant(shared.server, 'filtered');
    const events = Array.from({ length: 60 }, (_, at) =>
      sourceEvent({
        timestamp: start + at * 1_000_000,
        action: 1001,
        actor: { name: `User ${at % 3}`, email: `user${at % 3}@a.example` },
        remote: { ip: `192.0.2.${at % 4}` },
        sender: { file: at % 3 === 0 ? 'Plan.pdf' : 'Q2.pdf' },
        extra: { note: at % 2 === 0 ? 'Quarterly report' : 'nothing', fileSize: 1_500 },
      }),
    );
    const named = ([day, name, title]: readonly string[]) =>
      sourceEvent({
        timestamp: `${day}T12:00:00Z`,
        action: { code: 9001, title },
        actor: { name, email: 'ada@a.example' },
      });
    await tenant.record([...events, ...names.map(named)]);
    await tenant.settled(events.length + names.length, { endTime: '2025-12-31T00:00:00Z' });
    await createUser(shared.server, 'filtered', 'auditor', 'fay@a.example');
  });
  afterEach(() => shared.closeVisits());

  test('are typed, several values and exclusions too, and each value of an event makes one', async () => {
    const page = await shared.open('fay@a.example', ofThen);
    await settled(page, '60 events');
    const type = async (text: string, words: string) => {
      await page.getByRole('combobox').fill(text);
      await page.getByRole('option', { name: words }).first().click();
    };
    await type('user1', 'actor is');
    await settled(page, '20 events');
    await type('user2', 'actor is');
    await settled(page, '40 events');
    await page.locator('.chip', { hasText: 'actor is user1@a.example or user2@a.example' }).waitFor();
    await type('-192.0.2.0/31', 'address is not');
    await settled(page, '20 events');
    assert.match(page.url(), /ip\.not=192\.0\.2\.0%2F31/);
    await page.reload();
    await settled(page, '20 events');
    await page.getByRole('button', { name: 'Remove the filter: actor is user1@a.example' }).click();
    await settled(page, '10 events');
    await page.getByRole('button', { name: 'Clear all' }).click();
    await page.locator('.facets button', { hasText: 'User 0' }).click({ modifiers: ['Alt'] });
    await settled(page, '40 events');

    await rows(page).first().click();
    const value = (text: string) => page.locator('.facts .value', { hasText: text }).first();
    await value('192.0.2.3').click();
    await assertAccessibleInBoth(page);
    await page.getByRole('button', { name: 'Only this' }).click();
    await settled(page, '10 events');
    // The row that is clicked may still be of the list before.
    await eventually('the event of the first row', async () => {
      await rows(page).first().click();
      const wait = { timeout: patience(2_000) };
      return value('user2@a.example')
        .waitFor(wait)
        .then(() => true as const)
        .catch(() => undefined);
    });
    await value('user2@a.example').click();
    await page.getByRole('button', { name: 'Not this' }).click();
    await settled(page, '5 events');
    await rows(page).first().click();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await value('nothing').click();
    await page.getByRole('button', { name: 'Copy', exact: true }).click();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), 'nothing');
    await page.goto(`${shared.server.url}/${ofThen}&ip=nowhere`);
    await page.getByText('invalid, ignored').waitFor();
    // A date without a time is no range, and this page does not know the name of the parameter.
    await page.goto(`${shared.server.url}/#/events?from=2024-05-13&startTime=2024-05-13`);
    for (const text of ['from=2024-05-13', 'startTime=2024-05-13'])
      await page
        .locator('.chip', { hasText: `${text} invalid, ignored` })
        .first()
        .waitFor();
  });

  test('are of addresses, of a range by its beginning, and of files with their bytes; what is filtered by says when it was seen', async () => {
    const page = await shared.open('fay@a.example', `${ofThen}&from=2024-05-06T00:00:30Z`);
    await settled(page, '30 events');
    await page.getByText('Files and bytes').click();
    const files = page.locator('.facets details .rank');
    await files.first().waitFor();
    assert.deepEqual(await files.allInnerTexts(), ['Q2.pdf\n20 · 30 kB', 'Plan.pdf\n10 · 15 kB']);
    await assertAccessibleInBoth(page);
    await files.last().click();
    await settled(page, '10 events');
    await page.getByText('Over all time: first seen 06 May 2024').waitFor();
    await page.getByRole('combobox').fill('192.0.2');
    await page.getByRole('option', { name: 'address is 192.0.2.0/24' }).click();
    await page.locator('.chip', { hasText: 'address is 192.0.2.0/24' }).waitFor();
    await settled(page, '10 events');
    const address = page.locator('.facets button', { hasText: '192.0.2.3' });
    assert.match((await address.getAttribute('title')) ?? '', /first seen .*, last seen /);
    await address.click();
    await page.locator('.chip', { hasText: 'address is 192.0.2.3' }).waitFor();
  });

  test('are of phrases and excluded texts, of events without an address, and stand beside the range before', async () => {
    const page = await shared.open(
      'fay@a.example',
      '#/events?from=2024-05-06T00:00:30.000000Z&to=2024-05-06T00:00:59.999999Z',
    );
    await settled(page, '30 events');
    await page.getByText('Compare with the previous range').click();
    await page.getByText('30 events, 0 failed, from 06 May').waitFor();
    const type = async (text: string, option: string) => {
      await page.getByRole('combobox').fill(text);
      await page.getByRole('option', { name: option }).first().click();
    };
    await type('"quarterly report"', 'contains');
    await page.locator('.chip', { hasText: 'contains quarterly report' }).waitFor();
    await settled(page, '15 events');
    await type('-"User 1"', 'does not contain');
    await settled(page, '10 events');
    await page.reload();
    await page.locator('.chip', { hasText: 'does not contain User 1' }).waitFor();
    await settled(page, '10 events');
    await assertAccessibleInBoth(page);
    // Of all the range of a year, one bar has 60 events and two have one.
    await page.goto(`${shared.server.url}/#/events?from=2024-05-01T00:00:00Z&to=2025-05-08T00:00:00Z`);
    await page.locator('.outlier', { hasText: 'One bar is cut off: 60 events.' }).waitFor();
    await page.getByRole('application', { name: 'One bar is cut off: 60 events.' }).waitFor();
    await assertAccessibleInBoth(page);
    await page.goto(`${shared.server.url}/#/events?from=2025-05-06T00:00:00Z&to=2025-05-08T00:00:00Z`);
    await page.locator('.facets button', { hasText: 'none' }).click();
    await page.locator('.chip', { hasText: 'address is none' }).waitFor();
    await settled(page, '2 events');
  });

  test('are not made by the Enter that ends the composition of a word, as of Japanese', async () => {
    const page = await shared.open('fay@a.example', ofThen);
    await settled(page, '60 events');
    await page.getByRole('combobox').fill('かな');
    for (const mark of ['isComposing: true', 'keyCode: 229'])
      await page.evaluate(`document.querySelector('[role=combobox]').dispatchEvent(
        new KeyboardEvent('keydown', { key: 'Enter', ${mark}, bubbles: true }))`);
    assert.equal(await page.getByRole('combobox').inputValue(), 'かな');
    await page.keyboard.press('Enter');
    await page.locator('.chip', { hasText: 'contains かな' }).waitFor();
  });

  test('go by the newer of two names that somebody, or an activity, has had', async () => {
    const page = await shared.open('fay@a.example');
    for (const [day, name, title] of names) {
      const range = `from=${day}T00:00:00Z&to=${day}T23:59:59Z`;
      await page.goto(`${shared.server.url}/#/events?${range}&activity=9001`);
      await page.locator('.facets button', { hasText: name }).waitFor();
      await page.locator('.chip', { hasText: `activity is ${title}` }).waitFor();
      await page.getByRole('combobox').fill('ada@');
      await page.getByRole('option', { name: `${name} · ada@a.example` }).waitFor();
    }
  });

  test('find words, say how far they were looked for, and go on from there', async () => {
    const page = await shared.open('fay@a.example', ofThen);
    await settled(page, '60 events');
    // As a service answers that has no time to look through more than the newest half.
    const half = start + 30 * 1_000_000;
    let isFirst = true;
    await page.route('**/portal/rows?*q=*', async (route) => {
      const response = await route.fetch();
      if (!isFirst) return route.fulfill({ response });
      isFirst = false;
      const { data, meta } = (await response.json()) as Schemas['Rows'];
      const newer = data.filter(({ time }) => time > half);
      const back = new Date(half / 1000).toISOString();
      const json = { data: newer, meta: { ...meta, total: newer.length, searched_back_to: back } };
      return route.fulfill({ response, json });
    });
    await page.getByRole('combobox').fill('QUARTERLY Report');
    await page.getByRole('option', { name: 'contains' }).click();
    await settled(page, '14 events so far');
    await page.getByText('Searched back to 06 May 2024 02:00').waitFor();
    await assertAccessibleInBoth(page);
    const asked = page.waitForRequest(/endTime=2024-05-06T00%3A00%3A30/);
    await page.getByRole('button', { name: 'Search further back' }).click();
    await asked;
    await settled(page, '30 events');
    await page.getByText('Searched the whole range.').waitFor();
    assert.equal(await page.getByText('so far').count(), 0);
    await page.locator('[role=grid]').press('End');
    await page.locator('#event-29 .when', { hasText: '02:00:00.000' }).waitFor();
    await page.unroute('**/portal/rows?*q=*');
    await page.getByRole('button', { name: 'Remove the filter: contains report' }).click();
    await page.locator('.chip', { hasText: 'contains quarterly' }).waitFor();
  });
});
