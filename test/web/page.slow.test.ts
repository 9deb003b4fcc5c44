import { strict as assert } from 'node:assert';
import { afterEach, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Page } from 'playwright-core';
import { createUser, password, signIn } from '../e2e/session-support.ts';
import { withEngine } from '../e2e/export-support.ts';
import { eventually } from '../support/http.ts';
import { createTenant, type SharedServer, sourceEvent, type Tenant } from '../support/server.ts';
import {
  assertAccessible,
  assertAccessibleInBoth,
  fillSignIn,
  sharedPage,
  type SharedPage,
  withoutBrowser,
} from './support.ts';

const markup = '<img src=x onerror=alert(1)><script>alert(2)</script>';
const flow = '5f0c3a52-7c1b-4ad0-8a2e-3f6f1f0f9a10';
/** 2024-05-06T00:00:00Z: the events of this test. */
const start = Date.UTC(2024, 4, 6) * 1000;
const events = 3_000;
const gapSeconds = 10;
/** Of an organization of their own: as rows of one element they were higher than the page lets it be (8 million pixels). */
const manyEvents = 300_000;
const all = '#/events?range=all';
/** Without what the service itself has recorded while these tests ran. */
const ofThen = `${all}&to=2024-12-31T00:00:00Z`;
/** Document, scripts, styles and pictures, as they are sent, until the first rows are there. */
const firstLoadBytesMax = 50_000;
/** Files of the page, as they were sent, that were asked for before the answer with the first rows. */
const firstLoadBytes = `performance.getEntries()
  .filter(({ name, startTime }) => !name.includes('/api/') && startTime <
    performance.getEntriesByType('resource').find((one) => one.name.includes('/portal/rows')).responseEnd)
  .reduce((sum, { encodedBodySize = 0 }) => sum + encodedBodySize, 0)`;

/** When the rows are asked for, and when the bar is drawn; the session's answer comes once the view's code is there. */
const noteDrawn = `
  const rest = () => new Promise((resolve) => setTimeout(resolve));
  const viewCode = () => performance.getEntriesByType('resource').find(({ name }) => /view-[^/]*\\.js$/.test(name));
  const fetchAny = globalThis.fetch;
  globalThis.fetch = async (path, init) => {
    if (String(path).includes('/whoami')) {
      while (viewCode() === undefined) await rest();
      await import(viewCode().name);
      await rest();
    }
    if (String(path).includes('/portal/rows')) globalThis.rowsRequestedAt ??= performance.now();
    return fetchAny(path, init);
  };
  new MutationObserver((_, observer) => {
    if (document.querySelector('.bar') === null) return;
    observer.disconnect();
    globalThis.barDrawnAt = performance.now();
  }).observe(document, { childList: true, subtree: true });
`;

let server: SharedServer;
let shared: SharedPage;
let tenant: Tenant;

/** Rows with an event; those that wait for theirs cannot be chosen. */
const rows = (page: Page) => page.locator('.row[aria-selected]');
const settled = (page: Page, count: string) => page.locator('.total', { hasText: count }).waitFor();

function event(at: number, gap = 1): object {
  return sourceEvent({
    timestamp: start + at * gap * 1_000_000,
    action: at % 3 === 0 ? 2001 : 1001,
    actor: { id: `u${at % 7}`, name: `User ${at % 7}`, email: `user${at % 7}@a.example` },
    result: { code: at % 10 === 0 ? 403 : 200 },
    extra: { n: at },
  });
}

/** Marked up in every field, one of a flow of three, and with a number that JavaScript cannot hold. */
function markedEvents(): string[] {
  const texts = JSON.stringify(markup);
  return [0, 1, 2].map(
    (n) =>
      `{"level":"ERROR","message":{"timestamp":${start - 3_600_000_000 + n * 1_500_000},"action":{"code":700${n},"title":${texts}},` +
      `"actor":{"id":${texts},"name":${texts},"email":${texts},"type":${texts}},"target":${texts},` +
      `"result":{"title":${texts},"description":${texts},"code":500,"detail":${texts}},"remote":{"ip":${texts},"port":1},` +
      `"sender":{"file":${texts},"email":${texts},"hash":${texts}},"extra":{${texts}:${texts},"fileName":${texts},"large":12345678901234567890},` +
      `"flow_id":"${flow}"}}`,
  );
}

describe('the web page', { skip: withoutBrowser() }, () => {
  before(async () => {
    shared = await sharedPage();
    ({ server } = shared);
    tenant = await createTenant(server, 'acme');
    const other = await createTenant(server, 'globex');
    const lines = Array.from({ length: events }, (_, at) => JSON.stringify(event(at, gapSeconds))).concat(
      markedEvents(),
    );
    const headers = { 'content-type': 'application/x-ndjson' };
    assert.equal((await tenant.post(lines.join('\n'), headers)).status, 202);
    await other.record([event(1)]);
    await recordMany(await createTenant(server, 'many'));
    await createUser(server, 'many', 'auditor', 'many@a.example');
    await createUser(server, 'acme', 'auditor', 'zoe@a.example');
    await createUser(server, 'acme', 'admin', 'ada@a.example');
    await createUser(server, 'acme', 'member', 'member@a.example');
    await createUser(server, 'acme', 'auditor', 'both@a.example');
    await createUser(server, 'globex', 'auditor', 'both@a.example');
    await signIn(server, 'both@a.example', { organization: 'globex' });
    await eventually('all events', async () =>
      (await tenant.page({ endTime: '2024-12-31T00:00:00Z', limit: '1' })).meta.total === events + 3
        ? true
        : undefined,
    );
  });
  afterEach(() => shared.closeVisits());

  test('says kindly that it cannot sign somebody in, and lets who is in two organizations choose', async () => {
    const page = await shared.visit();
    await fillSignIn(page, 'nobody@a.example', 'a wrong password');
    assert.equal(await page.locator('[role=alert]').textContent(), 'Wrong e-mail address or password.');
    await fillSignIn(page, 'both@a.example');
    await page.getByRole('group', { name: 'Choose an organization' }).waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Back' }).click();
    await fillSignIn(page, 'both@a.example');
    await page.getByRole('button', { name: 'Org globex' }).click();
    await page.locator('.brand', { hasText: 'Org globex' }).waitFor();
    await page.locator('.account .menu > button').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.locator('form input[name=email]').waitFor();
  });

  test('shows each role what is its own', async () => {
    const member = await shared.open('member@a.example');
    await member.getByRole('heading', { name: 'Receipts' }).waitFor();
    assert.deepEqual(await member.locator('nav a').allTextContents(), ['Receipts']);
    const auditor = await shared.open('zoe@a.example', all);
    assert.deepEqual(await auditor.locator('nav a').allTextContents(), ['Overview', 'Events', 'Receipts']);
    await rows(auditor).first().waitFor();
    await auditor.addInitScript(noteDrawn);
    await auditor.reload();
    await rows(auditor).first().waitFor();
    const bytes = await auditor.evaluate<number>(firstLoadBytes);
    assert.ok(bytes > 10_000 && bytes < firstLoadBytesMax, `the first load is ${bytes} bytes`);
    assert.ok(await auditor.evaluate<boolean>('rowsRequestedAt < barDrawnAt'), 'rows are asked for first');
    // What takes the engine longest is asked for once rows are there.
    await auditor.locator('.facets button').first().waitFor();
    await auditor.locator('.chart .success').first().waitFor();
    const [rowsEnd, ...others] = await auditor.evaluate<number[]>(
      `['rows', 'histogram', 'top-values'].map((name) => performance.getEntriesByType('resource')
        .find((one) => one.name.includes('/portal/' + name))[name === 'rows' ? 'responseEnd' : 'startTime'])`,
    );
    assert.ok(rowsEnd !== undefined && others.every((start) => start >= rowsEnd));
  });

  test('finds by filters that are links: Back works, another browser sees the same rows', async () => {
    const page = await shared.open('zoe@a.example', ofThen);
    await settled(page, '3,003 events');
    await page.keyboard.press('/');
    await page.keyboard.type('user 3');
    await page.getByRole('option', { name: 'actor is' }).first().waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.chip', { hasText: 'actor is user3@a.example' }).waitFor();
    await settled(page, '429 events');
    await page.locator('.facets button', { hasText: 'Failure' }).click();
    await settled(page, '43 events');
    const [address, seen] = [page.url(), await rows(page).allTextContents()];
    // Somebody else without a session is led to it by way of the sign-in, and with one straight.
    const other = await shared.visit(address);
    await fillSignIn(other, 'ada@a.example');
    for (const second of [other, await other.context().newPage()]) {
      if (second !== other) await second.goto(address);
      await settled(second, '43 events');
      assert.equal(second.url(), address);
      await rows(second).nth(5).waitFor();
      // How many are drawn depends on the chips above, which may come later.
      await eventually('the other browser to show the same rows', async () =>
        isDeepStrictEqual(await rows(second).allTextContents(), seen) ? true : undefined,
      );
    }
    await page.goBack();
    await settled(page, '429 events');
    await page.locator('.chip button').click();
    await settled(page, '3,003 events');
  });

  test(`reaches each of ${manyEvents} rows by scrolling`, async () => {
    const page = await shared.open('many@a.example', ofThen);
    await settled(page, `${manyEvents.toLocaleString('en')} events`);
    const list = page.locator('.virtual-rows');
    const clocks = () => rows(page).locator('.when').allTextContents();
    await list.focus();
    await page.keyboard.press('End');
    const last = page.locator(`#event-${manyEvents - 1}[aria-selected]`, { hasText: '02:00:00.000' });
    await last.waitFor();
    await page.keyboard.press('Home');
    await page.locator('#event-0[aria-selected]').waitFor();
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await last.waitFor();
    // Row by row from there: none is left out, though a pixel of the bar stands for more than one.
    await list.hover();
    await page.mouse.wheel(0, -28 * 30);
    await page.locator(`#event-${manyEvents - 31}[aria-selected]`, { hasText: '02:00:30.000' }).waitFor();
    const seen = (await clocks()).map((text) => Date.parse(`2024-05-06T${text.slice(-12)}Z`));
    assert.ok(seen.length > 10);
    assert.ok(
      seen.every((at, index) => index === 0 || seen[index - 1] === at + 1000),
      String(seen),
    );
  });

  test('shows an event closely: text is text, digits stay, the flow has its durations', async () => {
    const page = await shared.open('zoe@a.example', `${all}&flowId=${flow}`);
    await settled(page, '3 events');
    await rows(page).nth(1).click();
    const panel = page.locator('.detail-panel');
    await panel.getByText('User id').waitFor();
    assert.ok(
      (await panel.locator('dd').allTextContents()).filter((text) => text.includes(markup)).length >= 8,
    );
    await page.getByRole('radio', { name: 'JSON' }).click();
    await panel.locator('pre', { hasText: '12345678901234567890' }).waitFor();
    await page.getByRole('radio', { name: 'Source event' }).click();
    await panel.locator('pre', { hasText: '"level": "ERROR"' }).waitFor();
    assert.ok((await panel.locator('pre').textContent())?.includes('"large": 12345678901234567890'));
    await page.getByRole('radio', { name: 'Before and after' }).click();
    await panel.locator('.flow li').nth(2).waitFor();
    assert.deepEqual((await panel.locator('.after').allTextContents()).slice(1), ['+1.5 s', '+1.5 s']);
    assert.equal(await page.locator('main :is(img, script)').count(), 0);
    const link = page.url();
    const second = await shared.open('zoe@a.example', link.slice(link.indexOf('#')));
    await second.locator('.detail h2', { hasText: '<img' }).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.detail').waitFor({ state: 'detached' });
  });

  test('zooms into bars that are chosen with the keyboard or by dragging', async () => {
    const page = await shared.open(
      'zoe@a.example',
      `${all}&from=2024-05-06T00:00:00Z&to=2024-05-06T08:19:59Z`,
    );
    // The count may be there before the bars.
    const bars = page.locator('.chart[data-stale=false] .success').first();
    await settled(page, '3,000 events');
    await bars.waitFor();
    await page.locator('.chart svg').focus();
    for (const key of ['ArrowRight', 'ArrowRight', 'Shift+ArrowRight', 'Enter'])
      await page.keyboard.press(key);
    await settled(page, '60 events');
    await page.goBack();
    await settled(page, '3,000 events');
    await bars.waitFor();
    const box = await page.locator('.chart svg').boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + box.width * 0.25, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 20, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(/from=2024-05-06T02/);
    await page.locator('.total', { hasNotText: '3,000' }).waitFor();
  });

  test('goes on where it was after a session has ended, and with another password', async () => {
    const page = await shared.open('zoe@a.example', `${all}&status=Failure`);
    const actor = page.locator('.facets button', { hasText: 'User 2' });
    await actor.waitFor();
    const other = await signIn(server, 'zoe@a.example');
    await other.send('POST', '/api/v1/portal/password', { current: password, new: `${password} 2` });
    await actor.click();
    const dialog = page.getByRole('dialog', { name: 'Sign in again' });
    await dialog.waitFor();
    await fillSignIn(page, undefined, `${password} 2`);
    await dialog.waitFor({ state: 'detached' });
    await settled(page, '43 events');
    assert.match(page.url(), /status=Failure&actor=user2/);
    await page.locator('.account .menu > button').click();
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.locator('input[name=current]').fill('not the right one');
    await page.locator('input[name=next]').fill(password);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The current password is wrong.').waitFor();
    await page.locator('input[name=current]').fill(`${password} 2`);
    // What is asked between the sessions waits for the next one, and nobody has to sign in for it.
    await page.route('**/auth/login-handler', async (route) => {
      const refused = page.waitForResponse((response) => response.status() === 401);
      await actor.dispatchEvent('click');
      await refused;
      assert.equal(await dialog.count(), 0);
      await route.continue();
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    // Those of all actors, the service's own too.
    await page.locator('.total', { hasText: /3\d\d events/ }).waitFor();
  });

  test('waits for the limit of requests, and says so', async () => {
    const page = await shared.open('zoe@a.example', ofThen);
    await rows(page).first().waitFor();
    // All within the page: on a slow machine the window may be over before the click, or the words gone before a look.
    await page.locator('.facets button', { hasText: 'Failure' }).evaluate(useUpLimit);
    await settled(page, '03 events');
    // Without a view, too: the session itself could not be asked for.
    const headers = { 'retry-after': '7', 'ratelimit-remaining': '0' };
    await page.route('**/whoami', (route) => route.fulfill({ status: 429, headers, json: {} }));
    await page.reload();
    await page.getByText('Too many requests. Next try in 7 s.').waitFor();
    await page.unroute('**/whoami');
    await page.getByRole('button', { name: 'Try now' }).click();
    await settled(page, '03 events');
  });

  test('says what is the matter while the engine is away, and goes on by itself', async () => {
    const page = await shared.open('zoe@a.example', ofThen);
    await rows(page).first().waitFor();
    const failures = page.locator('.facets button', { hasText: 'Failure' });
    await failures.waitFor();
    const killing = new AbortController();
    const killed = killEngines(killing.signal);
    try {
      const away = page.getByText('Records cannot be read right now.').first();
      const isAway = () =>
        away.waitFor({ timeout: 3000 }).then(
          () => true,
          () => false,
        );
      // On a busy machine an engine that is back for a moment may have answered: then the other filter is asked for.
      for (let tries = 0; !(await isAway()); tries += 1) {
        assert.ok(tries < 20);
        await failures.click();
      }
    } finally {
      killing.abort();
      await killed;
    }
    if (!page.url().includes('status=')) await failures.click();
    await settled(page, '303 events');
    await page.locator('.failure').first().waitFor({ state: 'detached' });
  });

  // `accessible.slow.test.ts` has the views themselves.
  test('has menus that keep nobody out, in light and dark', async () => {
    const page = await shared.open('zoe@a.example', `${ofThen}&flowId=${flow}`);
    await settled(page, '3 events');
    await page.locator('.filter-bar .menu > button').click();
    await assertAccessibleInBoth(page);
    await page.keyboard.press('Escape');
    await page.locator('.account .menu > button').click();
    await assertAccessibleInBoth(page);
  });

  test('is worked with by keys alone, in either zone and language', async () => {
    const page = await shared.visit(ofThen);
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const tabTo = async (selector: string) => {
      for (let n = 0; n < 120; n += 1) {
        if ((await page.locator(`${selector}:focus`).count()) > 0) return;
        await press('Tab');
      }
      assert.fail(`Tab does not reach ${selector}`);
    };
    await page.locator('input[name=email]').and(page.locator(':focus')).waitFor();
    await page.keyboard.type('zoe@a.example');
    await press('Tab');
    await page.keyboard.type(password);
    await press('Enter');
    await settled(page, '3,003 events');
    await press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await press('Escape', '/');
    await page.keyboard.type('user 3');
    await page.getByRole('option', { name: 'actor is' }).first().waitFor();
    await press('Enter');
    await settled(page, '429 events');
    await press('Tab', 'Enter');
    await settled(page, '3,003 events');
    await tabTo('[role=grid]');
    await press('ArrowDown', 'ArrowDown', 'Enter');
    await page.getByText('User id').waitFor();
    await tabTo('.detail > .choice :checked');
    await press('ArrowRight', 'ArrowRight');
    await page.locator('.detail-panel .key').first().waitFor();
    await press('Escape');
    await page.locator('[role=grid]').and(page.locator(':focus')).waitFor();
    const opener = page.getByRole('button', { name: 'Export' });
    await opener.press('Enter');
    await page.getByRole('dialog', { name: 'Export events' }).waitFor();
    await press('Escape');
    await opener.and(page.locator(':focus')).waitFor();
    await page.locator('[role=grid]').press('Home');
    const first = page.locator('#event-0 .when');
    assert.equal(await first.textContent(), '06 May 202410:19:50.000');
    const zone = page.getByRole('button', { name: /^Times/ });
    await zone.press('Enter');
    await page.locator('.head .when', { hasText: 'UTC' }).waitFor();
    assert.match(String(await first.textContent()), /08:19:50\.000$/);
    await zone.press('Enter');
    await page.locator('.account .menu > button').press('Enter');
    await page.getByRole('button', { name: 'Deutsch' }).press('Enter');
    await settled(page, '3.003 Ereignisse');
  });

  test('says that there is no connection, and goes on when there is', async () => {
    const page = await shared.open('zoe@a.example', ofThen);
    await rows(page).first().waitFor();
    await page.context().setOffline(true);
    await page.locator('.facets button', { hasText: 'Failure' }).click();
    await page.getByText('No connection to the server.').first().waitFor();
    await page.context().setOffline(false);
    await settled(page, '303 events');
    await page.locator('.failure').first().waitFor({ state: 'detached' });
  });

  test('fits a phone, and a wide screen', async () => {
    const page = await shared.open('zoe@a.example', all, { width: 360, height: 700 });
    await rows(page).first().waitFor();
    await page.getByRole('button', { name: 'Follow' }).click();
    await page.getByRole('button', { name: 'Following' }).click();
    await rows(page).first().click();
    await page.locator('.detail').waitFor();
    assert.equal(Math.round((await page.locator('.detail').boundingBox())?.width ?? 0), 360);
    await page.setViewportSize({ width: 2560, height: 1300 });
    await page.emulateMedia({ reducedMotion: 'reduce' });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 2560);
    assert.equal(
      await page.evaluate("getComputedStyle(document.querySelector('.detail')).animationDuration"),
      '0s',
    );
  });
});

/** A thousand events through the service, multiplied in its engine to so many as no test could send; a second apart. */
async function recordMany(many: Tenant): Promise<void> {
  const seeds = 1_000;
  await many.record(Array.from({ length: seeds }, (_, at) => event(at)));
  await many.settled(seeds, { endTime: '2024-12-31T00:00:00Z' });
  const micros = `toUnixTimestamp64Micro(e.time) + copy * ${seeds * 1_000_000}`;
  await withEngine(server, (storage) =>
    storage.command(
      `INSERT INTO events SELECT e.* REPLACE (fromUnixTimestamp64Micro(${micros}, 'UTC') AS time,
         e.seq + copy AS seq, concat('"time":', toString(${micros}), substring(e.ocsf, 24)) AS ocsf)
       FROM events AS e ARRAY JOIN range(1, ${manyEvents / seeds}) AS copy WHERE e.org = {org:UUID} AND e.time < '2025-01-01'`,
      { org: many.organization.id },
    ),
  );
}

/** Spends the requests of a window and presses a button that needs more, until the page has said that it waits. */
const useUpLimit = `async (button) => {
  let isTold = false;
  const words = 'The limit of 30 requests is reached';
  const observer = new MutationObserver(() => { isTold ||= document.body.textContent.includes(words); });
  observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  while (!isTold) {
    await Promise.all(Array.from({ length: 40 }, () => fetch('/api/v1/portal/whoami')));
    button.click();
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}`;

/** Kills the engine and each that takes its place, until the signal fires. */
async function killEngines(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const pid = server.enginePid();
    try {
      if (pid !== undefined) process.kill(pid, 'SIGKILL');
    } catch {
      // It has just died, and the next one is not there yet.
    }
    await sleep(50);
  }
}
