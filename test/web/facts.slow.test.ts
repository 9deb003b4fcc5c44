import { strict as assert } from 'node:assert';
import { afterEach, before, describe, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { createUser, password, signIn } from '../e2e/session-support.ts';
import { eventually } from '../support/http.ts';
import { createTenant, sourceEvent, type Tenant } from '../support/server.ts';
import { findingsOf, sharedPage, type SharedPage, untilTrue, withoutBrowser } from './support.ts';

/** 2024-05-06T00:00:00Z */
const start = Date.UTC(2024, 4, 6) * 1000;
const longAgo = Date.UTC(2023, 4, 6) * 1000;
const ada = 'ada@facts.example';
const bob = 'bob@facts.example';
/** Wednesday noon in Berlin. */
const noon = '2024-05-15T10:00:00Z';

const longName = 'Maximiliane-Charlotte von Hohenstein-Wallburg';
/** A program that would look like a document; and one whose end tells it apart from others. */
const reversed = 'invoice \u202Efdp.exe';
const longFile = 'A report on what everybody has done in the second quarter.pdf';

/** Names that hide others, themselves, or what they are. */
function namedEvents(): object[] {
  const of = (at: number, name: string, fileName: string) =>
    sourceEvent({
      timestamp: start + at * 1_000_000,
      actor: { id: `u${at}`, name, email: `u${at}@facts.example` },
      extra: { fileName },
    });
  return [of(1, longName, reversed), of(2, '   ', longFile)];
}

/** Ten failures on each working day before, and nine today; in one hour a thousand events, of which three failed. */
function loudEvents(): object[] {
  const of = (day: number, count: number, code: number, hour = 8) =>
    Array.from({ length: count }, (_, n) =>
      sourceEvent({ timestamp: Date.UTC(2024, 4, day, hour, 0, n) * 1000, actor: bob, result: { code } }),
    );
  const days = [6, 7, 8, 9, 10, 13, 14].flatMap((day) => of(day, 10, 403));
  return [...days, ...of(15, 9, 403), ...of(14, 997, 200, 12), ...of(14, 3, 403, 12)];
}

let shared: SharedPage;
let tenant: Tenant;
let other: Tenant;

const loudTotal = async (startTime: string, endTime: string) =>
  (await other.page({ startTime, endTime, limit: '1' })).meta;

describe('what the web page says is true', { skip: withoutBrowser() }, () => {
  before(async () => {
    shared = await sharedPage();
    const { server } = shared;
    tenant = await createTenant(server, 'facts');
    other = await createTenant(server, 'other-facts');
    await other.record(loudEvents());
    await other.settled(loudEvents().length, { endTime: noon });
    await createUser(server, 'facts', 'admin', ada);
    await createUser(server, 'other-facts', 'admin', bob);
    await tenant.record([sourceEvent({ timestamp: start }), ...namedEvents()]);
    await tenant.settled(3, { endTime: noon });
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
    await dialog.getByRole('button', { name: 'Reload the page' }).click();
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
    await page.getByRole('button', { name: 'Reload the page' }).click();
    await page.getByRole('grid').waitFor();
  });

  test('failures stand out where there are more than usual, and nowhere else', async () => {
    const page = await shared.open(bob, '#/receipts');
    await page.clock.setFixedTime(noon);
    await page.getByRole('link', { name: 'Overview' }).click();
    const tile = page.locator('.tile', { hasText: 'Failures today' });
    await tile.getByText('-10% usually 10 by now').waitFor();
    assert.equal(await tile.locator('.figure').getAttribute('class'), 'figure');
  });

  test('each part of each view waits, fails with another try, and is empty in its own way', async () => {
    const page = await shared.open(ada, '#/settings');
    await page.locator('.retention').waitFor();
    const parts = [
      ['overview', 'histogram', 'main', '.heat'],
      ['events?range=all', 'rows', '.table-area', '.row[aria-selected]'],
      ['events?range=all', 'histogram', '.chart', '.success'],
      ['events?range=all', 'top-values', '.facets', '.rank'],
      ['receipts', 'receipts', 'main', '.empty'],
      ['api-keys', 'api-keys', 'main', 'tbody th'],
      ['users', 'users', 'main', 'tbody th'],
      ['settings', 'settings', 'main', '.retention'],
    ] as const;
    for (const [at, [view, asked, part, content]] of parts.entries()) {
      const failure = page.locator(`${part} .failure`);
      const path = `**/portal/${asked}{,?*}`;
      const skeleton = page.locator(`${part} .skeleton`).first();
      for (const [status, words] of [
        [200, 'The server’s answer could not be understood.'],
        [400, 'The request failed: No.'],
        [500, 'Records cannot be read right now.'],
      ] as const) {
        // What the server says is shown by one for all.
        if (status === 400 && at > 0) continue;
        await page.goto('about:blank');
        let release = () => {};
        const waited = new Promise<void>((resolve) => (release = resolve));
        await page.route(path, async (route) => {
          await waited;
          await route.fulfill({ status, json: status === 200 ? {} : { detail: 'No.' } });
        });
        await page.goto(`${shared.server.url}/#/${view}`);
        await skeleton.waitFor();
        release();
        await failure.getByText(words).waitFor();
        await skeleton.waitFor({ state: 'detached' });
        if (status === 500) assert.deepEqual([part, await findingsOf(page)], [part, []]);
        await failure.getByRole('button', { name: 'Try now' }).waitFor();
        await page.unroute(path);
        // The page also tries by itself, and the button is gone then.
        await page.evaluate(
          `for (const one of document.querySelectorAll('${part} .failure button')) one.click()`,
        );
        await page.locator(`${part} ${content}`).first().waitFor();
        await failure.waitFor({ state: 'detached' });
      }
    }
    await page.goto(`${shared.server.url}/#/events?range=all&actor=nobody@facts.example`);
    for (const words of ['No events to draw.', 'No values to list.', 'No events match.'])
      await page.getByText(words).waitFor();
    await page.getByRole('button', { name: /^Remove “actor is nobody@facts.example”\s*\d/ }).waitFor();
    await page.goto(`${shared.server.url}/#/events?range=all`);
    await page.route('**/portal/source-events?*', (route) => route.fulfill({ json: {} }));
    await page.locator('.row[aria-selected]').first().click();
    await page.locator('.detail .failure', { hasText: 'could not be understood' }).waitFor();
  });

  test('a bar is red by the share that failed, has a scale, and is seen beside a peak', async () => {
    const page = await shared.open(bob, '#/events?from=2024-05-13T00:00:00Z&to=2024-05-15T10:00:00Z');
    const heights = (name: string) =>
      page.evaluate<number[]>(
        `Array.from(document.querySelectorAll('.chart .${name}'), (bar) => Number(bar.getAttribute('height')))`,
      );
    await page.locator('.chart[data-stale=false] .success').first().waitFor();
    const [green = 0] = await heights('success');
    const [red = 0] = await heights('success + .failure-bar');
    assert.ok(Math.abs(red / (red + green) - 0.003) < 0.0001, `${red} of ${red + green}`);
    // The peak is cut off, and its number said.
    assert.deepEqual(await page.locator('.scale span').allTextContents(), ['5', '10']);
    await page.getByText(/^One bar is cut off: 1,0\d\d events\.$/).waitFor();
    await page.getByRole('button', { name: 'Heights of the bars: linear' }).click();
    await page.getByRole('button', { name: 'Heights of the bars: log' }).waitFor();
    assert.deepEqual(await page.locator('.scale span').allTextContents(), ['10', '100', '1,000']);
    assert.ok(Math.max(...(await heights('failure-bar'))) > 15);
  });

  test('a bar and a range say exactly which time they are of, and count all of that', async () => {
    // A thousand events in as many seconds from noon on.
    const [from, to] = ['2024-05-14T12:03:20.500Z', '2024-05-14T12:08:20.499999Z'];
    const page = await shared.open(bob, `#/events?from=${from}&to=${to}`, { timezoneId: 'UTC' });
    await page.locator('.total', { hasText: '300 events' }).waitFor();
    await page.locator('.chart .success').first().waitFor();
    const range = page.locator('.filter-bar .menu > button');
    assert.equal(await range.innerText(), '14 May 2024 12:03:20.500 – 14 May 2024 12:08:20.499999');
    const bars = (await page.locator('.chart .success').count()) - 1;
    const { total } = await loudTotal(from, '2024-05-14T12:03:24.999999Z');
    await page.locator('.chart svg').press('ArrowRight');
    const readout = page.locator('.readout');
    assert.equal(
      await readout.textContent(),
      `14 May 2024 12:03:20.500 – 14 May 2024 12:03:25: ${total} events, 0 failed`,
    );
    for (let n = 0; n < bars; n += 1) await page.keyboard.press('ArrowRight');
    const last = await loudTotal('2024-05-14T12:08:20Z', to);
    assert.equal(
      await readout.textContent(),
      `14 May 2024 12:08:20 – 14 May 2024 12:08:20.499999: ${last.total} event, 0 failed`,
    );
    await page.keyboard.press('Enter');
    await page.locator('.total', { hasText: /^1 event$/ }).waitFor();
    await page.goBack();
    await page.locator('.total', { hasText: '300 events' }).waitFor();
    // The chart comes after the count.
    await page.locator('.chart[data-stale=false] .success').nth(2).waitFor();
    await page.locator('.chart svg').press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.locator('.total', { hasText: new RegExp(`^${total} events$`) }).waitFor();
    await page.goto(`${shared.server.url}/#/events?from=2024-05-14T12:03:20Z&to=2024-05-14T12:03:39.999999Z`);
    await page.locator('.total', { hasText: '20 events' }).waitFor();
    assert.equal(await range.innerText(), '14 May 2024 12:03:20 – 14 May 2024 12:03:40');
  });

  test('an hour that comes twice says which it is, and stays the same when it is asked for again', async () => {
    const twice = (at: string) => sourceEvent({ timestamp: at, actor: 'twice@facts.example' });
    await tenant.record(['2025-10-26T00:30:00Z', '2025-10-26T01:30:00Z', '2025-10-26T02:30:00Z'].map(twice));
    await tenant.settled(3, { actor: 'twice@facts.example' });
    const place =
      '#/events?from=2025-10-26T00:30:00Z&to=2025-10-26T01:30:00.999999Z&actor=twice@facts.example';
    const page = await shared.open(ada, place);
    const times = () => page.locator('.row[aria-selected] .when').allInnerTexts();
    const seen = ['26 Oct 2025\n02:30:00.000\nCET', '26 Oct 2025\n02:30:00.000\nCEST'];
    const settled = page.locator('.total', { hasText: /^2 events$/ });
    await settled.waitFor();
    assert.deepEqual(
      (await times()).map((text) => text.trim().replaceAll(/\s*\n\s*/g, '\n')),
      seen,
    );
    const range = page.locator('.filter-bar .menu > button');
    assert.equal(await range.innerText(), '26 Oct 2025 02:30 CEST – 26 Oct 2025 02:30:01 CET');
    for (const [field, value, count] of [
      ['From', '2025-10-26T02:30:00', 2],
      ['To', '2025-10-26T03:30:00', 3],
      ['From', '2025-10-26T03:00:00', 1],
    ] as const) {
      await range.click();
      await page.getByLabel(field, { exact: true }).fill(value);
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      await page.locator('.total', { hasText: new RegExp(`^${count} events?$`) }).waitFor();
    }
    assert.match(page.url(), /from=2025-10-26T02%3A00%3A00.000000Z&to=2025-10-26T02%3A30%3A00.999999Z/);
    await page.goto(`${shared.server.url}/#/events?from=2025-10-26T01:30:00Z&to=2025-10-26T01:59:59.999999Z`);
    await range.click();
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    assert.match(page.url(), /from=2025-10-26T01%3A30%3A00/);
  });

  test('names neither hide counts, nor turn around, nor are nothing; a name that is cut is copied and found whole', async () => {
    const page = await shared.open(ada, '#/events?range=all&to=2024-12-31T00:00:00Z');
    await page.locator('.total', { hasText: '3 events' }).waitFor();
    const facet = page.locator('.facets button', { hasText: longName });
    const [bar, count] = [
      await page.locator('.facets').boundingBox(),
      await facet.locator('span').last().boundingBox(),
    ];
    assert.ok(bar && count && count.x + count.width < bar.x + bar.width, 'the count is in sight');
    const drawn = page.locator('.row .drawn');
    const titles = ['␣␣␣', longFile, 'invoice [U+202E]fdp.exe'];
    await drawn.nth(2).waitFor();
    for (const [at, title] of titles.entries())
      assert.equal(await drawn.nth(at).getAttribute('title'), title);
    await page.setViewportSize({ width: 900, height: 700 });
    const select = (at: number) => `(() => {
      getSelection().selectAllChildren(document.querySelectorAll('.row .drawn')[${at}]);
      return getSelection().toString();
    })()`;
    assert.equal(await page.evaluate(select(1)), longFile);
    assert.equal(await page.evaluate(select(2)), reversed);
    assert.equal(await page.evaluate("getSelection().empty(), find('done in the second quarter.pdf')"), true);
  });

  test('nothing of an event leaves its cell: no line of a name, and no mark above its letters', async () => {
    const of = (name: string, at: number) =>
      sourceEvent(
        { timestamp: start + at, actor: { name, email: 'framed@facts.example' }, target: name },
        { msg: name },
      );
    const names = [
      'Ada',
      `\u00ad\n\n\n\n Framed Person`,
      '\n\n\n Framed \t Person',
      `Z${'\u0301'.repeat(60)}`,
    ];
    await tenant.record([...names.map(of), of('Zoe', names.length)]);
    await tenant.settled(5, { actor: 'framed@facts.example' });
    const place = '#/events?range=all&to=2024-12-31T00:00:00Z&actor=framed@facts.example';
    const page = await shared.open(ada, place);
    await page.locator('.total', { hasText: '5 events' }).waitFor();
    await page.locator('.row[aria-selected]').nth(4).waitFor();
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      for (const at of [0, 4]) {
        const row = page.locator('.row[aria-selected]').nth(at);
        const others = (visibility: string) =>
          page.evaluate(`document.querySelectorAll('.row:not(#event-${at})').forEach((row) => {
            row.style.visibility = '${visibility}'; })`);
        // Parts of the page that are still being drawn move the row a little.
        await eventually(`row ${at} of a page of ${width} to look the same without the others`, async () => {
          await others('');
          const shown = await row.screenshot();
          await others('hidden');
          return shown.equals(await row.screenshot()) || undefined;
        });
        await others('');
      }
    }
    const titles = await page
      .locator('.row .actor .drawn')
      .evaluateAll((all) => all.map(({ title }) => title));
    assert.deepEqual(titles, ['↵↵↵ Framed ⇥ Person', '[U+00AD]↵↵↵↵ Framed Person']);
  });

  test('the target is the target’s name, else the file; what is offered of a value finds its event', async () => {
    const [email, at] = ['aimed@facts.example', start + 20_000_000];
    const of = (n: number, more: object) =>
      sourceEvent(
        { timestamp: at + n, actor: email, remote: { ip: '999.1.1.1' }, ...more },
        { msg: 'said so' },
      );
    const extra = { fileName: 'Copy of the plan.pdf' };
    await tenant.record([
      of(3, { target: 'Finance', sender: { file: 'plan.pdf' }, extra }),
      of(2, { sender: { file: 'plan.pdf' }, extra: { fileName: 'PLAN.pdf' } }),
      of(1, { target: { name: 'Vault' } }),
      of(0, {}),
    ]);
    await tenant.settled(4, { actor: email });
    const page = await shared.open(ada, `#/events?range=all&to=2024-12-31T00:00:00Z&actor=${email}`);
    const row = page.locator('.row[aria-selected]');
    await row.nth(3).waitFor();
    const cells = (name: string) => page.locator(`.row[aria-selected] .${name}`).allTextContents();
    for (const width of [1280, 900])
      await page.setViewportSize({ width, height: 800 }).then(() =>
        // Of another year, and whole.
        untilTrue(
          page,
          `(({ scrollWidth, clientWidth }) => scrollWidth === clientWidth)(document.querySelector('.row[aria-selected] .when'))`,
        ),
      );
    await page.setViewportSize({ width: 1280, height: 800 });
    assert.deepEqual(await cells('target'), ['Finance', 'plan.pdf', 'Vault', '']);
    assert.deepEqual(await cells('message'), Array(4).fill('said so'));
    await row.first().click();
    const fact = (name: string) =>
      page.locator('.detail dt', { hasText: new RegExp(`^${name}$`) }).locator('+ dd');
    const offers = async (name: string) => {
      await fact(name).getByRole('button').click();
      const words = await page.locator('.menu-panel:popover-open button').allTextContents();
      await page.keyboard.press('Escape');
      return words[0];
    };
    assert.equal(await fact('Target').innerText(), 'Finance');
    assert.equal(await offers('File'), 'Only this');
    assert.equal(await offers('Address'), 'Search for these words');
    assert.equal(await offers('fileName'), 'Search for these words');
    await fact('fileName').getByRole('button').click();
    await page.getByRole('button', { name: 'Search for these words' }).click();
    await page.locator('.total', { hasText: /^1 event$/ }).waitFor();
    await page.goBack();
    await row.nth(1).locator('.when').click();
    await page.getByRole('radio', { name: 'Before and after' }).click();
    await page.locator('.detail .choice').last().getByText('Target').click();
    await page.locator('.detail-panel', { hasText: '2 events' }).waitFor();
    await page.getByRole('radio', { name: 'Summary' }).click();
    await fact('fileName').getByRole('button').click();
    await page.getByRole('button', { name: 'Only this' }).click();
    await page.locator('.total', { hasText: /^2 events$/ }).waitFor();
  });

  test('a row is a link whose words can be chosen, and says at any width what it is of', async () => {
    const [first, second, wide] = [
      'jan@one.example',
      'jan@two.example',
      '2001:db8:85a3:1234:5678:8a2e:370:7334',
    ];
    const of = (email: string, at: number) =>
      sourceEvent(
        {
          timestamp: start + 30_000_000 + at,
          actor: { name: at === 1 ? 'JAN' : 'Jan', email },
          remote: { ip: wide },
          target: 'The vault',
          flow_id: '5f0c3a52-7c1b-4ad0-8a2e-3f6f1f0f9a77',
        },
        { msg: 'words of it' },
      );
    await tenant.record([of(first, 0), of(second, 1)]);
    await tenant.settled(2, { flowId: '5f0c3a52-7c1b-4ad0-8a2e-3f6f1f0f9a77' });
    const place = '#/events?range=all&to=2024-12-31T00:00:00Z&flowId=5f0c3a52-7c1b-4ad0-8a2e-3f6f1f0f9a77';
    const page = await shared.open(ada, place);
    const row = page.locator('.row[aria-selected]');
    await row.nth(1).waitFor();
    assert.deepEqual(await row.locator('.actor').allInnerTexts(), [second, first]);
    await page.locator('.facets .rank', { hasText: second }).waitFor();
    assert.deepEqual(
      (await page.locator('.facets .rank .lines').allInnerTexts())
        .filter((text) => /jan/i.test(text))
        .toSorted(),
      [first, second],
    );
    // An address is whole, on a phone as well.
    const cutLines = `Array.from(document.querySelectorAll('.facets .lines'))
      .filter((one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight).length`;
    await page.locator('.facets .rank', { hasText: wide }).waitFor();
    assert.equal(await page.evaluate(cutLines), 0);
    await page.setViewportSize({ width: 320, height: 800 });
    await page.getByRole('button', { name: 'Frequent values' }).click();
    await page.locator('dialog .rank', { hasText: wide }).waitFor();
    assert.equal(await page.evaluate(cutLines), 0);
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 1280, height: 800 });
    await row
      .first()
      .locator('.message')
      .dblclick({ position: { x: 12, y: 8 } });
    assert.equal(await page.evaluate('getSelection().toString()'), 'words');
    await row.nth(1).click({ modifiers: ['Shift'] });
    const ways: [string, Parameters<Locator['click']>[0]][] = [
      ['.message', { button: 'middle' }],
      ['.message', { modifiers: ['ControlOrMeta'] }],
      ['.when a', { button: 'middle' }],
    ];
    for (const [cell, options] of ways) {
      const [tab] = await Promise.all([
        page.context().waitForEvent('page'),
        row.first().locator(cell).click(options),
      ]);
      await tab.locator('.detail dd', { hasText: second }).first().waitFor();
      await tab.close();
    }
    assert.equal(await page.locator('.detail').count(), 0);
    // What a row names is neither cut nor covered, whatever is beside it.
    const isSeen = `(() => Array.from(document.querySelectorAll('.row[aria-selected] :is(.actor, .target, .address, .lines)'), (cell) => {
      const { left, top, right, bottom } = cell.getBoundingClientRect();
      const isCut = cell.scrollWidth > cell.clientWidth || cell.scrollHeight > cell.clientHeight + 1;
      const seen = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
      return isCut || !cell.contains(seen) ? cell.className + ' ' + cell.innerText : '';
    }).filter(Boolean))()`;
    // Letters as high as those of Noto Sans, whichever fonts the machine has.
    const high =
      'src: local("Liberation Sans"), local("DejaVu Sans"); ascent-override: 107%; descent-override: 30%';
    await page.evaluate(`document.styleSheets[0].insertRule('@font-face { font-family: high; ${high}; }');
      document.documentElement.style.setProperty('--sans', 'high, sans-serif')`);
    for (const isOpen of [false, true]) {
      if (isOpen) {
        await page.setViewportSize({ width: 1280, height: 800 });
        await row.first().click();
        await page.locator('.detail .facts').first().waitFor();
      }
      for (const width of isOpen ? [1440, 1280, 1024, 900] : [1440, 1280, 900, 390, 320]) {
        await page.setViewportSize({ width, height: 800 });
        await untilTrue(page, "document.querySelector('.row[aria-selected]').clientWidth > 0");
        assert.deepEqual([width, isOpen, await page.evaluate(isSeen)], [width, isOpen, []]);
      }
    }
  });

  test('paper is a record: of what, by whom, when, how many, and every column', async () => {
    const page = await shared.open(bob, '#/events?range=all&to=2024-12-31T00:00:00Z&status=Failure');
    await page.locator('.total', { hasText: '82 events' }).waitFor();
    await page.locator('.facets .rank').first().waitFor();
    await page.locator('.chart .failure-bar').first().waitFor();
    await page.setViewportSize({ width: 794, height: 1100 });
    await page.emulateMedia({ media: 'print' });
    await page.locator('.printed tbody tr').nth(81).waitFor();
    const text = await page.locator('body').innerText();
    assert.match(
      text,
      /^Org other-facts · Events. Printed on \d\d \w+ 20\d\d, .+ by .+ \(bob@facts.example\)\./,
    );
    assert.match(
      text,
      /until 31 Dec 2024 01:00 · status is Failure\n+82 events · events 1 to 82 of 82 are printed/,
    );
    assert.deepEqual(
      (await page.locator('.printed th').allInnerTexts()).map((title) => title.replace(/ \(.*/, '').trim()),
      ['Time', 'Activity', 'Actor', 'Target', 'Message', 'Address', 'Severity', 'Status'],
    );
    const isWide = 'document.documentElement.scrollWidth > innerWidth';
    assert.equal(await page.evaluate(isWide), false);
    // Texts of any length and with invisible characters leave room for the other columns, also on A4.
    const long = { name: `\u0007${'W'.repeat(120)}`, email: bob };
    await other.record([sourceEvent({ timestamp: longAgo, actor: long, target: 'x'.repeat(200) })]);
    await other.settled(1, { endTime: '2023-12-31T00:00:00Z' });
    await page.setViewportSize({ width: 718, height: 1100 });
    await page.goto(`${shared.server.url}/#/events?range=all&to=2023-12-31T00:00:00Z`);
    await page.locator('.printed tbody td', { hasText: 'WWW' }).waitFor();
    assert.equal(await page.evaluate(isWide), false);
    await page.goBack();
    await page.locator('.printed tbody tr').nth(81).waitFor();
    // Above each list of values are those of the screen.
    const lists = page.locator('.facets section');
    for (let at = 0; at < (await lists.count()); at += 1)
      assert.match(await lists.nth(at).innerText(), /\n.+\n?\s*\d/);
    const pages = (await page.pdf({ format: 'A4' })).toString('latin1').match(/\/Type \/Page\b/g);
    assert.ok((pages?.length ?? 0) > 1);
    for (const view of ['users', 'settings', 'overview']) {
      await page.goto(`${shared.server.url}/#/${view}`);
      await page.locator('main h1').waitFor();
      await page.getByText('(bob@facts.example).').waitFor();
    }
  });

  test('a view that is not for somebody’s role says so, also where the role changes meanwhile', async () => {
    const { server } = shared;
    const eve = await createUser(server, 'facts', 'auditor', 'eve@facts.example');
    const page = await shared.open('eve@facts.example', '#/events?range=all');
    await page.getByRole('grid').waitFor();
    const value = page.locator('.facets button').first();
    await value.waitFor();
    const admin = await signIn(server, ada);
    const become = async (role: string) =>
      assert.equal((await admin.send('PATCH', `/api/v1/portal/users/${eve.id}`, { role })).status, 200);
    await become('member');
    await value.click();
    await page.getByText('Your role in this organization (Member) does not include “Events”.').waitFor();
    assert.deepEqual(await page.locator('nav a').allTextContents(), ['Receipts']);
    await become('auditor');
    await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
    await page.getByRole('grid').waitFor();
  });

  test('an event of very many members is shown in parts, and copied whole', async () => {
    const extra = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, at]));
    await tenant.record([sourceEvent({ timestamp: start + 9_000_000, actor: 'big@facts.example', extra })]);
    await tenant.settled(1, { actor: 'big@facts.example' });
    const page = await shared.open(ada, '#/events?range=all&to=2024-12-31T00:00:00Z&actor=big@facts.example');
    await page.locator('.row[aria-selected]').click();
    await page.getByText('49,900 more are in the JSON.').waitFor();
    await page.getByRole('radio', { name: 'JSON' }).click();
    const more = page.getByRole('button', { name: /^Show more: [\d,]+ characters follow$/ });
    await more.waitFor();
    assert.equal((await page.locator('.json pre').textContent())?.length, 40_000);
    await more.click();
    await untilTrue(page, "document.querySelector('.json pre').textContent.length === 120_000");
  });

  test('the table has room on the smallest screen, texts follow the browser’s size, a key leads to the panel and back', async () => {
    const place = '#/events?range=all&to=2024-12-31T00:00:00Z';
    const page = await shared.open(ada, place, { width: 320, height: 256 });
    const grid = page.getByRole('grid');
    await grid.waitFor();
    assert.ok(((await grid.boundingBox())?.height ?? 0) > 150);
    await page.setViewportSize({ width: 1280, height: 800 });
    const size = () =>
      page.evaluate<string>(
        "getComputedStyle(document.querySelector('.row[aria-selected] .activity')).fontSize",
      );
    assert.equal(await size(), '13px');
    await page.evaluate("document.documentElement.style.fontSize = '20px'");
    assert.equal(await size(), '16.25px');
    await grid.focus();
    await page.keyboard.press('Enter');
    await page.locator('.detail').waitFor();
    await page.keyboard.press('Tab');
    await page.getByRole('radio', { name: 'Summary' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Escape');
    await grid.and(page.locator(':focus')).waitFor();
  });

  test('rows are as high as the browser’s texts ask for: none lies over another, and the last is reached', async () => {
    const page = await shared.open(bob, '#/events?range=all&to=2024-12-31T00:00:00Z');
    const total = loudEvents().length;
    const last = page.locator(`#event-${total - 1}[aria-selected]`);
    const grid = page.getByRole('grid');
    const boxes = () =>
      page.evaluate<
        [top: number, height: number][]
      >(`Array.from(document.querySelectorAll('.row[aria-selected]'),
        (row) => { const { top, height } = row.getBoundingClientRect(); return [top, height]; })`);
    for (const [width, rem, row] of [
      [1280, 24, 78],
      [390, 24, 120],
      [1280, 16, 28],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      await page.evaluate(`document.documentElement.style.fontSize = '${rem}px'`);
      await grid.press('End');
      await last.waitFor();
      await untilTrue(page, `document.querySelector('.row[aria-selected]').clientHeight === ${row - 1}`);
      const seen = await boxes();
      assert.ok(seen.length > 1);
      for (const [at, [top]] of seen.entries())
        if (at > 0)
          assert.ok(Math.abs(top - (seen[at - 1]?.[0] ?? 0) - row) < 0.1, `${rem} px: ${seen.join(' ')}`);
      const end = (await grid.boundingBox()) ?? { y: 0, height: 0 };
      const [top = 0, height = 0] = seen.at(-1) ?? [];
      assert.ok(Math.abs(top + height - end.y - end.height) < 1, `the last row ends at ${top + height}`);
      await grid.press('Home');
      await page.locator('#event-0[aria-selected]').waitFor();
    }
  });

  test('colours that say something stay where the system forces its own', async () => {
    const page = await shared.open(bob, '#/receipts');
    await page.clock.setFixedTime(noon);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.locator('.heat a').first().waitFor();
    await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
    const shades = await page.evaluate<number>(
      "new Set(Array.from(document.querySelectorAll('.heat a'), (field) => getComputedStyle(field).backgroundColor)).size",
    );
    assert.ok(shades > 1, `${shades} shades`);
  });
});
