import { strict as assert } from 'node:assert';
import { afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { withEngine } from '../e2e/export-support.ts';
import { createUser } from '../e2e/session-support.ts';
import { createTenant, sourceEvent, type Tenant } from '../support/server.ts';
import { assertAccessibleInBoth, sharedPage, type SharedPage, untilTrue, withoutBrowser } from './support.ts';

/** Events by their places: links to one of a microsecond, lists that late events cannot shift, what is around an event. */

/** 2024-05-06T00:00:00Z */
const start = Date.UTC(2024, 4, 6) * 1000;
const until = { endTime: '2024-12-31T00:00:00Z' };
const ofThen = '#/events?range=all&to=2024-12-31T00:00:00Z';
const flow = '7a0c3a52-7c1b-4ad0-8a2e-3f6f1f0f9a11';
const perMoment = 150;
const moments = 15;
const count = perMoment * moments;

const settled = (page: Page, words: string) => page.locator('.total', { hasText: words }).waitFor();
const rowOf = (page: Page, text: string) => page.locator('.row[aria-selected]', { hasText: text });

let shared: SharedPage;
let tenant: Tenant;

/** So many at each microsecond; every tenth belongs to the flow. */
function event(at: number, msg = `number ${at}.`): object {
  const message = {
    timestamp: start + Math.floor(at / perMoment) * 60_000_000,
    action: 1001,
    actor: { email: `user${at % 3}@a.example` },
    remote: { ip: `192.0.2.${at % 4}` },
    target: `thing ${at % 5}`,
    ...(at % 10 === 0 && { flow_id: flow }),
  };
  return sourceEvent(message, { msg });
}

describe('the place of an event on the web page', { skip: withoutBrowser() }, () => {
  before(async () => {
    shared = await sharedPage();
    tenant = await createTenant(shared.server, 'places');
    await tenant.record(Array.from({ length: count }, (_, at) => event(at)));
    await tenant.settled(count, until);
    await createUser(shared.server, 'places', 'auditor', 'pia@a.example');
  });
  afterEach(() => shared.closeVisits());

  test('is in its link, also as the 101st of a microsecond at row 2,005; Back and reload keep it', async () => {
    const page = await shared.open('pia@a.example', ofThen);
    await settled(page, '2,250 events');
    await page.locator('[role=grid]').focus();
    await page.keyboard.press('End');
    // Newest first: row 2,005 is the 95th of its microsecond from the newest on.
    const wanted = `number ${count - 2005}.`;
    const top = () => page.locator('.row[aria-selected]').first().getAttribute('id');
    await page.locator(`#event-${count - 1}[aria-selected]`).waitFor();
    await page.locator('[role=grid]').hover();
    await page.mouse.wheel(0, -28 * 235);
    await rowOf(page, wanted).click();
    await page.locator('.facts', { hasText: wanted }).waitFor();
    await page.reload();
    await page.locator('.facts', { hasText: wanted }).waitFor();
    await page.locator('#event-2004[aria-selected=true]', { hasText: wanted }).waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy link' }).click();
    const link = await page.evaluate<string>('navigator.clipboard.readText()');
    const second = await page.context().newPage();
    await second.goto(link);
    await second.locator('#event-2004[aria-selected=true]', { hasText: wanted }).waitFor();
    await second.locator('#event-2006[aria-selected]', { hasText: `number ${count - 2007}.` }).waitFor();
    await second.close();
    await page.keyboard.press('Escape');
    await page.mouse.wheel(0, -28 * 400);
    await page.locator('#event-1610[aria-selected]').waitFor();
    const place = await top();
    await untilTrue(page, 'history.state !== null');
    await page.locator('.facets button', { hasText: 'user1' }).click();
    await settled(page, '750 events');
    assert.equal(await top(), 'event-0');
    await page.goBack();
    await page.locator(`#${place}[aria-selected]`).waitFor();
    assert.equal(await top(), place);
  });

  test('is none where the server would not take it for one: no event is counted twice', async () => {
    const page = await shared.open('pia@a.example', ofThen);
    await settled(page, '2,250 events');
    for (const place of [
      '2024-02-30T00:00:00.000000Z~1',
      '2024-05-06T00:00:00.000000Z~99999999999999999999',
    ]) {
      await page.goto('about:blank');
      await page.goto(`${shared.server.url}/${ofThen}&event=${place}`);
      await page.locator('.row[aria-selected]').first().waitFor();
      assert.equal(await page.locator('.total').textContent(), '2,250 events');
    }
  });

  test('does not move with events that arrive late: no row comes twice', async () => {
    const late = await createTenant(shared.server, 'late');
    await createUser(shared.server, 'late', 'auditor', 'lea@a.example');
    await late.record(Array.from({ length: 505 }, (_, at) => event(at)));
    await late.settled(505, until);
    const page = await shared.open('lea@a.example', ofThen);
    await settled(page, '505 events');
    const seen: string[] = [];
    const look = async () => {
      await page.locator('.row[aria-busy=true]').first().waitFor({ state: 'detached' });
      const texts = await page.locator('.row[aria-selected] .message').allTextContents();
      // What is in sight follows what was before.
      seen.push(...texts.slice(seen.length === 0 ? 0 : texts.indexOf(seen.at(-1) ?? '') + 1));
    };
    await look();
    await late.record(Array.from({ length: 30 }, (_, n) => event(n * 15, `late ${n}.`)));
    await late.record(Array.from({ length: 30 }, (_, n) => event(n + 600)));
    await late.settled(565, until);
    await page.locator('[role=grid]').focus();
    for (let n = 0; n < 60 && seen.at(-1) !== 'number 0.'; n += 1) {
      await page.keyboard.press('PageDown');
      await look();
    }
    assert.equal(seen.at(-1), 'number 0.');
    assert.equal(new Set(seen).size, seen.length);
    assert.ok(seen.length >= 505, `${seen.length} rows`);
  });

  test('is said to be of no event of this organization, or of none any more', async () => {
    const at = Date.UTC(2024, 5, 1) * 1000;
    await tenant.record([sourceEvent({ timestamp: at, actor: 'gone@a.example' })]);
    await tenant.settled(1, { actor: 'gone@a.example' });
    const page = await shared.open('pia@a.example', `${ofThen}&event=2024-05-06T00:00:00.000000Z~1`);
    await page
      .locator('.detail')
      .getByText(/^Org places has no such event. The link may belong to another/)
      .waitFor();
    await page.goto(`${shared.server.url}/${ofThen}&actor=gone@a.example`);
    await rowOf(page, 'gone@a.example').click();
    await page.locator('.facts').first().waitFor();
    await withEngine(shared.server, (storage) =>
      storage.command(
        `ALTER TABLE events DELETE WHERE org = {org:UUID} AND toUnixTimestamp64Micro(time) = ${at}
         SETTINGS mutations_sync = 1`,
        { org: tenant.organization.id },
      ),
    );
    await page.getByRole('radio', { name: 'Before and after' }).click();
    await page.getByText('it expired or was erased after you opened it').waitFor();
    assert.match(await page.locator('.detail-panel').innerText(), /\n0 events\s+Only this/);
  });

  test('has a before and an after: in its flow, by its actor, from its address, on its target', async () => {
    const page = await shared.open('pia@a.example', `${ofThen}&flowId=${flow}`);
    await settled(page, '225 events');
    await page.locator('[role=grid]').press('End');
    await rowOf(page, 'number 10.').click();
    await page.getByRole('radio', { name: 'Before and after' }).click();
    const panel = page.locator('.detail-panel');
    await panel.getByText('225 events · 14 min').waitFor();
    const here = panel.locator('[aria-current=step]');
    await here.getByText('number 10.').waitFor();
    assert.deepEqual(await panel.locator('.flow li a > .muted:last-child').allTextContents(), [
      'user0@a.example · thing 0 · number 0.',
      ...Array.from(
        { length: 6 },
        (_, n) => `user${(10 + 10 * n) % 3}@a.example · thing 0 · number ${10 + 10 * n}.`,
      ),
    ]);
    await assertAccessibleInBoth(page);
    await panel.getByRole('button', { name: '218 after these' }).click();
    await panel.getByRole('button', { name: '168 after these' }).waitFor();
    assert.equal(await panel.locator('.flow li').count(), 57);
    await panel.getByRole('radio', { name: 'Actor' }).check({ force: true });
    await panel.getByText('750 events · 14 min').waitFor();
    await panel.getByRole('radio', { name: 'Address' }).check({ force: true });
    await panel.getByText('562 events · 14 min').waitFor();
    await panel.getByRole('radio', { name: 'Target' }).check({ force: true });
    await panel.getByText('450 events · 14 min').waitFor();
    await panel.locator('.flow a', { hasText: 'number 20.' }).click();
    await here.getByText('number 20.').waitFor();
    await page.locator('.row[aria-selected=true]', { hasText: 'number 20.' }).waitFor();
    await page.goBack();
    await here.getByText('number 10.').waitFor();
  });
});
