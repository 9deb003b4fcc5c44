import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';
import { createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { unzip } from '../../src/base/bytes/zip.ts';
import { withEngine } from '../e2e/export-support.ts';
import { createUser, type SignedIn, signIn } from '../e2e/session-support.ts';
import { eventually } from '../support/http.ts';
import { createTenant, sourceEvent, type Tenant } from '../support/server.ts';
import { assertAccessible, fillSignIn, sharedPage, type SharedPage, withoutBrowser } from './support.ts';

/** Views other than the events, in a browser: receipts, overview, and the export of events. */

const markup = '<img src=x onerror=alert(1)>';
const flow = '5f0c3a52-7c1b-4ad0-8a2e-3f6f1f0f9a10';
const member = 'member@viewed.example';
/** 2024-05-06T00:00:00Z, where the member's transfers begin. */
const start = Date.UTC(2024, 4, 6) * 1000;
/** More than a page of receipts. */
const transfers = 60;

const memberEvents = `#/events?range=all&to=2024-12-31T00:00:00Z&actor=${member}`;

let admin: SignedIn;
let shared: SharedPage;
let tenant: Tenant;

/** A whole transfer, one that failed, and downloads that have begun. */
function transferEvents(): object[] {
  const of = (seconds: number, action: number, message: object) =>
    sourceEvent({ timestamp: start + seconds * 1_000_000, actor: member, action, ...message });
  const sent = { flow_id: flow, target: markup, extra: { fileSize: 48_213, destination: 'Finance' } };
  return [
    ...Array.from({ length: transfers - 2 }, (_, at) => of(at, 2002, { target: `part ${at}.bin` })),
    of(1000, 2003, { target: 'lost.pdf', result: { code: 500 } }),
    of(2000, 2000, sent),
    of(2192, 2001, sent),
  ];
}

/** Wednesday noon in Berlin: what the browser takes for now, so that there are days before it. */
const noon = '2024-05-15T10:00:00Z';

/** Four events on each working day before, from the third of May on, and a louder morning. */
function daysEvents(): object[] {
  const of = (day: number, hour: number, actor: string, code = 200) => {
    const timestamp = Date.UTC(2024, 4, day, hour, 30) * 1000;
    return sourceEvent({ timestamp, actor: `${actor}@viewed.example`, action: 1001, result: { code } });
  };
  return [
    ...[3, 6, 7, 8, 9, 10, 13, 14].flatMap((day) => Array.from({ length: 4 }, () => of(day, 8, 'old'))),
    ...Array.from({ length: 6 }, (_, n) => of(15, 9, 'old', n < 2 ? 403 : 200)),
    of(15, 9, 'fresh'),
  ];
}

describe('the views of the web page', { skip: withoutBrowser() }, () => {
  before(async () => {
    shared = await sharedPage();
    const { server } = shared;
    tenant = await createTenant(server, 'viewed');
    await tenant.record([...transferEvents(), ...daysEvents()]);
    await tenant.settled(transferEvents().length + daysEvents().length, { endTime: noon });
    await createUser(server, 'viewed', 'member', member);
    await createUser(server, 'viewed', 'admin', 'admin@viewed.example');
    admin = await signIn(server, 'admin@viewed.example');
  });
  afterEach(() => shared.closeVisits());

  test('show everybody the receipts of their own transfers, page by page', async () => {
    const page = await shared.open(member, '#/receipts');
    await page.locator('.count', { hasText: `${transfers} transfers` }).waitFor();
    const rows = page.locator('tbody tr');
    const cells = (at: number) => rows.nth(at).locator('th, td').allTextContents();
    const [file, destination, size, started, completed, duration, status] = await cells(0);
    assert.ok(file?.includes(markup));
    assert.deepEqual([destination, size, duration], ['Finance', '48.2 kB', '3 min 12 s']);
    assert.match(`${started} ${completed}`, /02:33:20.*02:36:32/s);
    assert.equal(status, 'Completed');
    await page.getByRole('columnheader', { name: 'Started (CEST)' }).waitFor();
    assert.equal((await cells(1)).at(-1), 'Failed');
    assert.deepEqual((await cells(2)).slice(4), ['–', '–', 'Started']);
    assert.equal(await rows.count(), 50);
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByText('51–60 of 60').waitFor();
    assert.equal(await rows.count(), 10);
    assert.match(page.url(), /#\/receipts\?page=2$/);
    await page.goBack();
    await page.getByText('1–50 of 60').waitFor();
    await page.goto(`${shared.server.url}/#/receipts?page=9`);
    await page.getByText('This page is empty.').waitFor();
    assert.equal(await page.locator('.pager').count(), 0);
  });

  test('say that there are no receipts yet, or that they are switched off', async () => {
    const page = await shared.open('admin@viewed.example', '#/receipts');
    await page.getByText('No transfers yet.').waitFor();
    await admin.send('PATCH', '/api/v1/portal/settings', { receipts: 'off' });
    try {
      // The page that is open does not know it yet.
      await page.goto(`${shared.server.url}/#/receipts?page=2`);
      await page.getByRole('heading', { name: 'Receipts are switched off' }).waitFor();
      const later = await shared.open(member, '#/receipts');
      await later.getByText('An administrator can switch receipts on.').waitFor();
      await assertAccessible(later);
    } finally {
      await admin.send('PATCH', '/api/v1/portal/settings', { receipts: 'own' });
    }
  });

  test('show today beside the usual day, and lead from each figure to its events', async () => {
    const page = await shared.open('admin@viewed.example', '#/receipts');
    await page.clock.setFixedTime(noon);
    await page.getByRole('link', { name: 'Overview' }).click();
    const tile = (title: string) => page.locator('.tile', { hasText: title });
    await tile('Events today').getByText('+75% usually 4 by now').waitFor();
    assert.equal(await tile('Failures today').locator('.figure').textContent(), '2');
    await tile('Failures today').getByText('usually none by now').waitFor();
    await page.getByText('the median of 8 days like this one').waitFor();
    assert.deepEqual(await tile('New actors today').locator('li').allTextContents(), [
      'fresh@viewed.example1',
    ]);
    assert.deepEqual(await page.locator('.lists .ranks').first().locator('a').allTextContents(), [
      'old@viewed.example6',
      'fresh@viewed.example1',
    ]);
    const morning = page.getByRole('link', { name: /^Wed,? 15 May 11:00 – 12:00: 7 events, 2 failed$/ });
    await page.locator('.heat a[tabindex="0"]').focus();
    for (let hour = 0; hour < 11; hour += 1) await page.keyboard.press('ArrowRight');
    await morning.and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.total', { hasText: '7 events' }).waitFor();
    await page.goBack();
    await tile('Failures today').getByRole('link').click();
    await page.locator('.total', { hasText: '2 events' }).waitFor();
    assert.match(page.url(), /#\/events\?range=today&status=Failure$/);
    // Less than two days, and not yesterday.
    await page.clock.setFixedTime('2024-05-15T07:00:00Z');
    await page.goto(`${shared.server.url}/#/events?from=2024-05-13T00:00:00Z&to=2024-05-13T23:59:59Z`);
    await page.locator('.total', { hasText: '4 events' }).waitFor();
    await page.locator('.row[aria-selected]').first().click();
    await page.locator('.when-exact', { hasText: '1 day ago' }).waitFor();
  });

  test('count each half of an hour to its day, and each day to its year, where these begin between two hours of UTC', async () => {
    const tenant = await createTenant(shared.server, 'halves');
    // A quarter past midnight, and noon, in Kolkata.
    const of = (timestamp: string) =>
      sourceEvent({ timestamp, action: 1001, result: { code: 403 } }, { msg: 'of \u202Eold' });
    await tenant.record(['2024-05-14T18:45:00Z', '2024-05-15T06:30:00Z', '2024-12-31T18:45:00Z'].map(of));
    await tenant.settled(2, { endTime: noon });
    await createUser(shared.server, 'halves', 'auditor', 'ravi@viewed.example');
    const page = await shared.open('ravi@viewed.example', '#/receipts', { timezoneId: 'Asia/Kolkata' });
    await page.clock.setFixedTime(noon);
    await page.getByRole('link', { name: 'Overview' }).click();
    const figure = page.locator('.tile', { hasText: 'Failures today' }).locator('.figure');
    await figure.waitFor();
    assert.equal(await figure.textContent(), '2');
    await page.getByRole('link', { name: /^Wed,? 15 May 00:00 – 01:00: 1 event, 1 failed$/ }).waitFor();
    await page.clock.setFixedTime('2025-01-02T00:00:00Z');
    await page.goto(`${shared.server.url}/#/events?from=2024-12-31T00:00:00Z&to=2025-01-02T00:00:00Z`);
    const row = page.locator('.row[aria-selected]');
    assert.equal(await row.locator('.when span').textContent(), '01 Jan');
    assert.equal(await row.locator('.message').getAttribute('title'), 'of [U+202E]old');
  });

  test('count as the API does, where days begin at a quarter of an hour, and begin anew with the next day', async () => {
    const tenant = await createTenant(shared.server, 'quarters');
    // One a minute around each midnight of Kathmandu (18:15 in UTC), and around its hours of today.
    const at = [
      ...[13, 14].flatMap((day) => Array.from({ length: 20 }, (_, n) => Date.UTC(2024, 4, day, 18, 5 + n))),
      ...Array.from({ length: 120 }, (_, n) => Date.UTC(2024, 4, 15, 6, 3 + n)),
    ];
    await tenant.record(at.map((ms) => sourceEvent({ timestamp: ms * 1000, action: 1001 })));
    await tenant.settled(at.length, { endTime: noon });
    await createUser(shared.server, 'quarters', 'auditor', 'tara@viewed.example');
    const page = await shared.open('tara@viewed.example', '#/receipts', { timezoneId: 'Asia/Kathmandu' });
    let now = noon;
    await page.route('**/portal/whoami', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), time: now } });
    });
    const later = async (time: string) => {
      now = time;
      await page.clock.setFixedTime(now);
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))");
    };
    await later(noon);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.locator('.heat a').first().waitFor();
    const shown = await page
      .locator('.heat a')
      .evaluateAll((all) => all.map((one) => ['href', 'title'].map((name) => one.getAttribute(name) ?? '')));
    const busy = shown.filter(([, title]) => !/: 0 events/.test(title ?? ''));
    assert.ok(busy.length > 6, `${busy.length} hours`);
    for (const [hash, title] of busy) {
      const range = new URLSearchParams(hash?.replace(/.*\?/, ''));
      const [startTime, endTime] = [range.get('from') ?? '', range.get('to') ?? ''];
      const { total } = (await tenant.page({ startTime, endTime, limit: '1' })).meta;
      assert.match(title ?? '', new RegExp(`: ${total} events?, 0 failed$`));
    }
    const figure = page.locator('.tile', { hasText: 'Events today' }).locator('.figure');
    assert.equal(await figure.textContent(), '130');
    await figure.click();
    await page.locator('.total', { hasText: '130 events' }).waitFor();
    await later('2024-05-15T10:02:00Z');
    await page.getByText('as of 15:45').waitFor();
    await later('2024-05-16T10:00:00Z');
    await page.getByText('There are no events in this time range.').waitFor();
    await page.goBack();
    await page.getByText('Nothing today.').first().waitFor();
    assert.equal(await figure.textContent(), '0');
    await later('2024-05-17T10:00:00Z');
    await page.getByText(/^Fri,? 17 May, until 15:45/).waitFor();
  });

  test('export the events of the view into a file of each form, and count before', async () => {
    const page = await shared.open('admin@viewed.example', memberEvents);
    const files: Record<string, string> = {};
    for (const format of ['ndjson', 'json', 'csv']) {
      const dialog = await openExport(page);
      await dialog.getByRole('radio', { name: format.toUpperCase(), exact: true }).check();
      assert.equal(await dialog.locator('.count').textContent(), '61 events');
      const downloading = page.waitForEvent('download');
      await dialog.getByRole('button', { name: 'Export' }).click();
      const download = await downloading;
      assert.match(download.suggestedFilename(), new RegExp(`^audit-viewed-\\d{8}T\\d{6}Z\\.${format}$`));
      files[format] = await readFile(await download.path(), 'utf8');
      await dialog.waitFor({ state: 'detached' });
    }
    const lines = (text = '') => text.trimEnd().split('\n');
    const events = lines(files['ndjson']).map((line) => (JSON.parse(line) as { time: number }).time);
    assert.equal(events.length, 61);
    assert.deepEqual(
      (JSON.parse(files['json'] ?? '') as { time: number }[]).map(({ time }) => time),
      events,
    );
    assert.match(files['csv'] ?? '', /^time,/);
    assert.equal(lines(files['csv']).length, 62);
  });

  test('export what they name: no filter that was left out, and as many as there are by now', async () => {
    const page = await shared.open('admin@viewed.example', `${memberEvents}&ip=999.1.1.1`);
    await page.locator('.total', { hasText: '61 events' }).waitFor();
    const late = sourceEvent({ timestamp: start, actor: member, action: 2002 });
    await tenant.record([late, late]);
    await tenant.settled(63, { actor: member, endTime: noon });
    const dialog = await openExport(page);
    await dialog.locator('.count', { hasText: '63 events' }).waitFor();
    const words = await dialog.innerText();
    assert.match(words, /63 events as of (.+ )?\d\d:\d\d:\d\d\n/);
    assert.match(words, /\nuntil 31 Dec 2024 01:00 · actor is member@viewed.example\n/);
    const downloading = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Export' }).click();
    const file = await readFile(await (await downloading).path(), 'utf8');
    assert.equal(file.trimEnd().split('\n').length, 63);
    await withEngine(shared.server, (storage) =>
      storage.command(
        `ALTER TABLE events DELETE WHERE org = {org:UUID} AND seq IN (SELECT seq FROM events
           WHERE org = {org:UUID} AND toUnixTimestamp64Micro(time) = ${start} AND activity_id = 2002 ORDER BY seq DESC LIMIT 2)
         SETTINGS mutations_sync = 1`,
        { org: tenant.organization.id },
      ),
    );
  });

  test('make a case file of the view, which waits for its checkpoint, and say where it has a limit', async () => {
    const page = await shared.open('admin@viewed.example', memberEvents);
    const cases = '**/portal/evidence/case?*';
    let refusals = 2;
    await page.route(cases, (route) =>
      refusals-- > 0
        ? route.fulfill({ status: 503, headers: { 'retry-after': '1' }, json: { evidence: 'pending' } })
        : route.continue(),
    );
    await page.getByRole('button', { name: 'Case file' }).click();
    const dialog = page.getByRole('dialog', { name: 'Create a case file' });
    await dialog.locator('.count', { hasText: '61 events' }).waitFor();
    await assertAccessible(page);
    const downloading = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('No checkpoint covers the newest of these events yet.').waitFor();
    const download = await downloading;
    assert.match(download.suggestedFilename(), /^case-viewed-\d{8}T\d{6}Z\.zip$/);
    const files = await unzip(await readFile(await download.path()), 10_000_000);
    assert.equal(files.get('events.ndjson')?.toString().trimEnd().split('\n').length, 61);
    const { link } = JSON.parse(files.get('case.json')?.toString() ?? '') as { link: string };
    await dialog.waitFor({ state: 'detached' });
    await page.goto(link);
    await page.locator('.total', { hasText: '61 events' }).waitFor();
    // A failure stays in the dialog; closing it gives the request up.
    await page.unroute(cases);
    await page.route(cases, (route) =>
      route.fulfill({ status: 409, json: { detail: 'The tree has no such event.' } }),
    );
    await page.getByRole('button', { name: 'Case file' }).click();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').getByText('The tree has no such event.').waitFor();
    await page.keyboard.press('Escape');
    await page.unroute(cases);
    await page.route('**/portal/rows?*limit=1', (route) =>
      route.fulfill({
        json: { data: [], meta: { total: 1001, limit: 1, offset: 0, settled: '0', unsettled: 0 } },
      }),
    );
    await page.getByRole('button', { name: 'Case file' }).click();
    await dialog.getByText('A case file has at most 1,000 events.').waitFor();
    assert.ok(await dialog.getByRole('button', { name: 'Create' }).isDisabled());
  });

  test('say why there is no export, and go on with one once somebody has signed in again', async () => {
    const page = await shared.open('admin@viewed.example', memberEvents);
    const dialog = await openExport(page);
    const button = dialog.getByRole('button', { name: 'Export' });
    const rows = '**/portal/rows?*';
    await page.route(rows, (route) =>
      route.fulfill({ status: 500, json: { detail: 'Records cannot be read.' } }),
    );
    await button.click();
    await dialog.getByRole('alert').getByText('Records cannot be read.').waitFor();
    await assertAccessible(page);
    await page.unroute(rows);
    // A session that has ended is asked for again, and the export goes on.
    await page.context().clearCookies();
    await button.click();
    await page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
    const downloading = page.waitForEvent('download');
    await fillSignIn(page, undefined);
    assert.equal(await (await downloading).failure(), null);
  });

  test('say that an export waits for the limit of requests, and then download it, never the refusal', async () => {
    const page = await shared.open('admin@viewed.example', memberEvents);
    // The page's own question is the last one of the window, or is refused.
    for (const left of [1, 0]) {
      let isTold = false;
      // On a slow machine the window may be over too soon.
      for (let tries = 0; !isTold && tries < 5; tries += 1) {
        const dialog = await openExport(page);
        const downloading = page.waitForEvent('download');
        await page.evaluate(`(${leaveRequests})(${left})`);
        await dialog.getByRole('button', { name: 'Export' }).click();
        const download = await downloading;
        assert.equal(await download.failure(), null);
        assert.equal((await readFile(await download.path(), 'utf8')).trimEnd().split('\n').length, 61);
        isTold = (await page.evaluate('isTold')) === true;
        await dialog.waitFor({ state: 'detached' });
      }
      assert.ok(isTold, `with ${left} left`);
    }
  });

  test('say what is the matter with an answer that breaks off, and have the browser mark such an export as failed', async () => {
    let broken = '/portal/export';
    const proxy = createServer((request, response) => {
      const { method, headers, url = '' } = request;
      const asked = sendRequest(`${shared.server.url}${url}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        const half = (chunk: Buffer) => chunk.subarray(0, chunk.length >> 1);
        if (!url.includes(broken)) answer.pipe(response);
        else answer.once('data', (chunk: Buffer) => response.write(half(chunk), () => response.destroy()));
      });
      request.pipe(asked);
    });
    await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = proxy.address() as AddressInfo;
      const page = await shared.open('admin@viewed.example', `http://127.0.0.1:${port}/${memberEvents}`);
      const dialog = await openExport(page);
      const downloading = page.waitForEvent('download');
      await dialog.getByRole('button', { name: 'Export' }).click();
      assert.notEqual(await (await downloading).failure(), null);
      broken = '/portal/rows';
      await page.goto(`http://127.0.0.1:${port}/${memberEvents}&status=Failure`);
      await page.locator('.table-area .failure', { hasText: 'No connection to the server' }).waitFor();
      broken = 'nothing more';
      await page.locator('.total', { hasText: '1 event' }).waitFor();
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  test('give an export to the page itself, and to no page of another site that sends somebody there', async () => {
    const page = await shared.open('admin@viewed.example', memberEvents);
    const exports = () =>
      page.evaluate<number>(
        "fetch('/api/v1/portal/events?activity=2030').then((answer) => answer.json()).then(({ meta }) => meta.total)",
      );
    const before = await exports();
    const address = `${shared.server.url}/api/v1/portal/export?format=csv`;
    const elsewhere = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<a href="${address}">Go</a>`);
    });
    await new Promise<void>((resolve) => void elsewhere.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = elsewhere.address() as AddressInfo;
      const other = await page.context().newPage();
      // Another site than 127.0.0.1, on this machine.
      await other.goto(`http://localhost:${port}/`);
      const answered = other.waitForResponse(address);
      await other.getByRole('link', { name: 'Go' }).click();
      assert.equal((await answered).status(), 403, 'not 401: the browser has sent the cookie');
      await other.close();
    } finally {
      elsewhere.closeAllConnections();
      elsewhere.close();
    }
    const dialog = await openExport(page);
    const downloading = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Export' }).click();
    await (await downloading).path();
    // What the other page had caused would have been recorded before.
    await eventually('the own export to be recorded', async () =>
      (await exports()) > before ? true : undefined,
    );
    assert.equal(await exports(), before + 1);
  });

  test('prove an event by a file, say when it will be covered, and report altered and inserted events', async () => {
    const tenant = await createTenant(shared.server, 'proven');
    await createUser(shared.server, 'proven', 'auditor', 'auditor@a.example');
    await tenant.record([1, 2, 3].map((n) => sourceEvent({ timestamp: start + n * 1_000_000 })));
    await tenant.settled(3, { endTime: noon });
    const page = await visitPending('auditor@a.example');
    const evidence = page.locator('.evidence dd');
    const chosen = (at: number) => page.locator('.row[aria-selected]').nth(at);
    await chosen(0).click();
    await evidence.getByText('Not yet covered by a checkpoint: will be covered within 1 s').waitFor();
    await page.unroute('**/evidence/proof?*');
    // With its day, where that has just ended.
    await evidence
      .getByText(/^Recorded as number \d+, covered by the checkpoint of (.+, )?\d\d:\d\d$/)
      .waitFor();
    await assertAccessible(page);
    const button = evidence.getByRole('button', { name: 'Download the proof' });
    const downloading = page.waitForEvent('download');
    await button.press('Enter');
    const download = await downloading;
    assert.match(download.suggestedFilename(), /^proof-\d+\.json$/);
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
    const keys = (await (
      await fetch(`${shared.server.url}/api/v1/audit/evidence/key`, { headers: { 'x-api-key': tenant.key } })
    ).json()) as { keys: { key: string }[] };
    const verified = await shared.server.cliHere([
      'verify',
      await download.path(),
      '--key',
      keys.keys[0]?.key ?? '',
    ]);
    assert.equal(verified.code, 0, verified.stderr);
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 1280, height: 800 });

    await forge(tenant.organization.id);
    await page.reload();
    await chosen(1).click();
    await evidence.getByText('differs from the checkpoint').waitFor();
    await page.keyboard.press('Escape');
    await chosen(3).click();
    await evidence.getByText('it was inserted afterwards').waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await page.route('**/evidence/proof?*', (route) =>
      route.fulfill({ status: 404, json: { detail: 'None.', evidence: 'off' } }),
    );
    await chosen(0).click();
    await evidence.getByText('the service currently signs none').waitFor();
    await page.keyboard.press('Escape');
    await page.unroute('**/evidence/proof?*');
    await page.route('**/evidence/proof?*', (route) =>
      route.fulfill({ status: 500, json: { detail: 'Records cannot be read.' } }),
    );
    await chosen(1).click();
    await evidence.getByText('Records cannot be read right now.').waitFor();
    await page.unroute('**/evidence/proof?*');
    await evidence.getByRole('button', { name: 'Try now' }).press('Enter');
    await evidence.getByText('differs from the checkpoint').waitFor();
  });
});

async function openExport(page: Page): Promise<Locator> {
  await page.getByRole('button', { name: 'Export' }).click();
  return page.getByRole('dialog', { name: 'Export events' });
}

/** Uses up the requests of a window but so many; `isTold` is true once the page has said that it waits. */
const leaveRequests = `async (left) => {
  globalThis.isTold = false;
  const words = 'requests is reached';
  new MutationObserver(() => { isTold ||= document.body.textContent.includes(words); })
    .observe(document.body, { subtree: true, childList: true, characterData: true });
  const ask = async () => Number((await fetch('/api/v1/portal/whoami')).headers.get('ratelimit-remaining'));
  // From the beginning of a window.
  let rest = await ask();
  for (; rest < 28; rest = await ask()) await new Promise((resolve) => setTimeout(resolve, 100));
  await Promise.all(Array.from({ length: rest - left }, ask));
}`;

/** A page for which every checkpoint is yet to come. */
async function visitPending(email: string): Promise<Page> {
  const page = await shared.open(email, '#/events?range=all&to=2024-12-31T00:00:00Z');
  await page.route('**/evidence/proof?*', (route) =>
    route.fulfill({
      status: 404,
      headers: { 'retry-after': '1' },
      json: { detail: 'No checkpoint covers such an event yet.', evidence: 'pending' },
    }),
  );
  return page;
}

/** Alters the second of three events in the table, and puts one in before the first. */
async function forge(organization: string): Promise<void> {
  const where = 'WHERE org = {organization:UUID} AND toUnixTimestamp64Micro(time) =';
  await withEngine(shared.server, async (storage) => {
    await storage.command(
      `ALTER TABLE events UPDATE source = replaceOne(source, '"action":', '"action": ')
       ${where} ${start + 2_000_000} SETTINGS mutations_sync = 1`,
      { organization },
    );
    await storage.command(
      `INSERT INTO events SELECT * REPLACE (seq - 1000000 AS seq, fromUnixTimestamp64Micro(${start + 500_000}, 'UTC') AS time,
         concat('"time":${start + 500_000}', substring(ocsf, 24)) AS ocsf)
       FROM (SELECT * FROM events ${where} ${start + 1_000_000})`,
      { organization },
    );
  });
}
