import { strict as assert } from 'node:assert';
import { after, afterEach, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { createUser, type SignedIn, signIn } from '../e2e/session-support.ts';
import { createTenant, sourceEvent, startServer, type TestServer } from '../support/server.ts';
import {
  assertAccessible,
  buildPage,
  launchBrowser,
  type Visit,
  type VisitOptions,
  visitAs,
  withoutBrowser,
} from './support.ts';

/** Views other than the events, in a browser: receipts, overview, and the export of events. */

const markup = '<img src=x onerror=alert(1)>';
const flow = '5f0c3a52-7c1b-4ad0-8a2e-3f6f1f0f9a10';
const member = 'member@a.example';
/** 2024-05-06T00:00:00Z, where the member's transfers begin. */
const start = Date.UTC(2024, 4, 6) * 1000;
/** More than a page of receipts. */
const transfers = 60;

let server: TestServer;
let browser: Browser;
let admin: SignedIn;
const visits: Visit[] = [];

async function open(email: string, place: string, options: VisitOptions = {}): Promise<Page> {
  const visitor = await visitAs(browser, server, email, place, options);
  visits.push(visitor);
  return visitor.page;
}

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

describe('the views of the web page', { skip: withoutBrowser() }, () => {
  before(async () => {
    buildPage();
    const env = { RATE_LIMIT_TENANT: '30/2s', RATE_LIMIT_LOGIN: 'off' };
    [server, browser] = await Promise.all([startServer({ env }), launchBrowser()]);
    const tenant = await createTenant(server, 'acme');
    await tenant.record(transferEvents());
    await createUser(server, 'acme', 'member', member);
    await createUser(server, 'acme', 'admin', 'admin@a.example');
    admin = await signIn(server, 'admin@a.example');
  });
  after(async () => {
    await browser?.close();
    await server?.stop();
  });
  afterEach(async () => {
    for (const { context, faults } of visits.splice(0)) {
      assert.deepEqual(faults, []);
      await context.close();
    }
  });

  test('show everybody the receipts of their own transfers, page by page', async () => {
    const page = await open(member, '#/receipts');
    await page.locator('.count', { hasText: `${transfers} transfers` }).waitFor();
    const rows = page.locator('.receipt:not(.head)');
    const cells = (at: number) => rows.nth(at).locator('[role=cell]').allTextContents();
    const [file, destination, size, started, completed, duration, status] = await cells(0);
    assert.ok(file?.includes(markup));
    assert.deepEqual([destination, size, duration], ['Finance', '48.2 kB', '3 min 12 s']);
    assert.match(`${started} ${completed}`, /02:33:20.*02:36:32/s);
    assert.equal(status, 'Completed');
    assert.equal((await cells(1)).at(-1), 'Failed');
    assert.deepEqual((await cells(2)).slice(4), ['–', '–', 'Started']);
    assert.equal(await rows.count(), 50);
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByText('51–60 of 60').waitFor();
    assert.equal(await rows.count(), 10);
    assert.match(page.url(), /#\/receipts\?page=2$/);
    await page.goBack();
    await page.getByText('1–50 of 60').waitFor();
  });

  test('say that there are no receipts yet, or that they are switched off', async () => {
    const page = await open('admin@a.example', '#/receipts');
    await page.getByText('No transfers yet.').waitFor();
    await admin.send('PATCH', '/api/v1/portal/settings', { receipts: 'off' });
    try {
      await page.getByRole('button', { name: 'Refresh' }).click();
      await page.getByText('Receipts are switched off in this organization.').waitFor();
      const later = await open(member, '#/receipts');
      await later.getByText('An administrator can switch receipts on.').waitFor();
      await assertAccessible(later);
    } finally {
      await admin.send('PATCH', '/api/v1/portal/settings', { receipts: 'own' });
    }
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`have nothing that keeps people out, in ${colorScheme}, on a phone too`, async () => {
      const page = await open(member, '#/receipts', { colorScheme });
      await page.locator('.receipt .middle').first().waitFor();
      await assertAccessible(page);
      await page.setViewportSize({ width: 360, height: 700 });
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 360);
      await assertAccessible(page);
    });
  }
});
