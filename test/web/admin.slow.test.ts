import { strict as assert } from 'node:assert';
import { afterEach, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { createUser, password, signIn } from '../e2e/session-support.ts';
import { call } from '../support/http.ts';
import { createTenant, type SharedServer, sourceEvent } from '../support/server.ts';
import {
  assertAccessibleInBoth,
  fillSignIn,
  sharedPage,
  type SharedPage,
  withoutBrowser,
} from './support.ts';

/** What administrators do on the page: keys, users, settings. */
const admin = 'ada@managed.example';
let server: SharedServer;
let shared: SharedPage;

const dialog = (page: Page) => page.getByRole('dialog');
const row = (page: Page, name: string) => page.locator('tbody tr', { hasText: name });

/** Chooses from the menu of a row. */
async function choose(page: Page, name: string, action: string): Promise<void> {
  await row(page, name).locator('.menu > button').click();
  await page.getByRole('button', { name: action, exact: true }).click();
}

describe('the page of an administrator', { skip: withoutBrowser() }, () => {
  before(async () => {
    shared = await sharedPage();
    ({ server } = shared);
    await createTenant(server, 'managed');
    await createUser(server, 'managed', 'admin', admin);
    await createUser(server, 'managed', 'auditor', 'zoe@managed.example');
    await signIn(server, 'zoe@managed.example');
  });
  afterEach(() => shared.closeVisits());

  test('is there for administrators alone', async () => {
    const page = await shared.open('zoe@managed.example', '#/api-keys');
    assert.deepEqual(await page.locator('nav a').allTextContents(), ['Overview', 'Events', 'Receipts']);
    assert.equal(await page.getByRole('heading', { name: 'API keys' }).count(), 0);
  });

  test('keeps a long name within the page, also one in which nobody could see a character', async () => {
    const tenant = await createTenant(server, 'named');
    await createUser(server, 'named', 'admin', 'ada@named.example');
    const { send } = await signIn(server, 'ada@named.example');
    const name = `\u202E${'x'.repeat(180)}`;
    await send('POST', '/api/v1/portal/users', { email: 'x@named.example', name, role: 'member' });
    const page = await shared.open('ada@named.example', '#/users', { width: 800 });
    await page.locator('.list .drawn').waitFor();
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 800);
    await tenant.record([sourceEvent({ timestamp: '2024-05-06T12:00:00Z' }, { msg: name })]);
    await tenant.settled(1, { endTime: '2024-12-31T00:00:00Z' });
    await page.goto(`${server.url}/#/events?range=all&to=2024-12-31T00:00:00Z`);
    await page.locator('.row[aria-selected]').click();
    await page.locator('.facts .drawn').first().waitFor();
    const [width, room] = await page.evaluate<[number, number]>(
      '(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])(document.querySelector(".detail-panel"))',
    );
    assert.equal(width, room);
  });

  test('makes a key that works and is shown once, rotates it, and revokes it', async () => {
    const page = await shared.open(admin, '#/api-keys');
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('SIEM <b>');
    await page.getByRole('checkbox', { name: 'Read' }).uncheck();
    assert.ok(await page.getByRole('button', { name: 'Create key' }).isDisabled());
    await page.getByRole('checkbox', { name: 'Read' }).check();
    await page.getByLabel('Requests per 15 s').fill('100000');
    await page.getByRole('button', { name: 'Create key' }).click();
    await dialog(page).getByText('must not allow more than').waitFor();
    await page.getByLabel('Requests per 15 s').fill('20');
    await page.getByRole('button', { name: 'Create key' }).click();
    const key = await textOfKey(page);
    const works = async (text: string) =>
      (await call(`${server.url}/api/v1/audit?limit=1`, { headers: { 'x-api-key': text } })).status;
    assert.equal(await works(key), 200);
    const line = await dialog(page).locator('pre').nth(1).textContent();
    assert.equal(line, `curl -H 'X-API-Key: ${key}' '${server.url}/api/v1/audit?limit=5'`);
    assert.equal(
      await copiedWithoutClipboard(page, dialog(page).getByRole('button', { name: 'Copy' }).first()),
      key,
    );
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await row(page, 'SIEM <b>').getByText('20/15s').waitFor();
    assert.ok(!(await page.content()).includes(key));

    await choose(page, 'SIEM <b>', 'Rotate');
    await dialog(page).getByRole('button', { name: 'Rotate' }).click();
    const second = await textOfKey(page);
    assert.deepEqual([await works(key), await works(second)], [200, 200]);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await choose(page, 'SIEM <b>', 'Rotate');
    await page.getByLabel('Current secret').selectOption('0');
    await dialog(page).getByRole('button', { name: 'Rotate' }).click();
    const rotated = await textOfKey(page);
    assert.deepEqual([await works(key), await works(second), await works(rotated)], [401, 401, 200]);
    await page.getByRole('button', { name: 'I have stored it' }).click();

    // When it was made, last used, and ends.
    await row(page, 'SIEM <b>').locator('time').nth(2).waitFor();
    await choose(page, 'SIEM <b>', 'Revoke');
    const revoke = dialog(page).getByRole('button', { name: 'Revoke' });
    await dialog(page).getByText('This cannot be undone.').waitFor();
    await revoke.click();
    await dialog(page).waitFor({ state: 'detached' });
    await row(page, 'SIEM <b>').getByText('revoked').waitFor();
    assert.equal(await works(rotated), 401);
    // What works no more comes last.
    assert.match(String(await page.locator('tbody tr').last().textContent()), /SIEM <b>/);
    assert.equal(await row(page, 'SIEM <b>').locator('.menu').count(), 0);
  });

  test('makes a user who chooses a password by a link, gives another role, and disables', async () => {
    const page = await shared.open(admin, '#/users');
    await row(page, admin).getByText('you').waitFor();
    assert.equal(await row(page, admin).locator('.menu').count(), 0);
    await page.getByRole('button', { name: 'New user' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Mel');
    await page.getByLabel('E-mail address').fill('zoe@managed.example');
    await page.getByRole('button', { name: 'Create user' }).click();
    await page.getByText('A user with this address already exists.').waitFor();
    await page.getByLabel('E-mail address').fill('mel@managed.example');
    await page.getByRole('radio', { name: 'Auditor' }).check();
    await page.getByRole('button', { name: 'Create user' }).click();
    await page.getByRole('button', { name: 'Create link' }).click();
    const link = String(await dialog(page).locator('pre').textContent());
    await page.getByRole('button', { name: 'Done' }).click();

    const mel = await shared.visit(link);
    await mel.getByLabel('New password').fill(password);
    await mel.getByRole('button', { name: 'Save' }).click();
    await mel.getByRole('button', { name: 'Sign in' }).click();
    await fillSignIn(mel, 'mel@managed.example');
    await mel.locator('nav a', { hasText: 'Events' }).waitFor();
    assert.ok(!mel.url().includes('token'));
    const again = await shared.visit(link);
    await again.getByLabel('New password').fill(password);
    await again.getByRole('button', { name: 'Save' }).click();
    await again.getByText('This link is no longer valid.').waitFor();

    await page.getByRole('searchbox').fill('MEL@');
    await row(page, 'zoe@managed.example').waitFor({ state: 'detached' });
    await choose(page, 'mel@managed.example', 'Change role');
    await page.getByRole('radio', { name: 'Administrator' }).check();
    await page.getByRole('button', { name: 'Save' }).click();
    await row(page, 'mel@managed.example').getByText('Administrator').waitFor();
    await choose(page, 'mel@managed.example', 'Disable');
    await dialog(page).getByRole('button', { name: 'Disable' }).click();
    await row(page, 'mel@managed.example').getByText('disabled').waitFor();
    await mel.reload();
    await mel.locator('form input[name=email]').waitFor();
  });

  test('changes settings, and says what the retention means', async () => {
    const page = await shared.open(admin, '#/settings');
    await page.getByText('Events do not expire.').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Acme & Sons');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.locator('.brand', { hasText: 'Acme & Sons' }).waitFor();
    await page.getByRole('radio', { name: 'Receipts are off' }).check();
    await page.getByRole('button', { name: 'Save' }).nth(1).click();
    await page.locator('section', { hasText: 'Receipts are off' }).getByText('Saved').waitFor();
    await page.reload();
    assert.ok(await page.getByRole('radio', { name: 'Receipts are off' }).isChecked());
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Acme & Sons');
  });

  test('has menus and dialogs that keep nobody out on a phone, in light and dark', async () => {
    const page = await shared.open(admin, '#/api-keys', { width: 360, height: 700 });
    for (const [view, action] of [
      ['api-keys', 'Revoke'],
      ['users', 'Change role'],
    ] as const) {
      await page.goto(`${server.url}/#/${view}`);
      await row(page, view === 'users' ? 'zoe@managed.example' : 'ak_')
        .first()
        .waitFor();
      await page.locator('tbody .menu > button').first().click();
      await assertAccessibleInBoth(page);
      await page.getByRole('button', { name: action }).click();
      await assertAccessibleInBoth(page);
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.locator('.page-head button').click();
      await assertAccessibleInBoth(page);
      await page.keyboard.press('Escape');
    }
  });
});

/** The text of a key that is being shown. */
/** What a button copies in a page that has no clipboard: over plain HTTP, from another machine. */
async function copiedWithoutClipboard(page: Page, button: Locator): Promise<unknown> {
  await page.evaluate(`
    Object.defineProperty(navigator, 'clipboard', { value: undefined });
    document.addEventListener('copy', () => { globalThis.copied = document.activeElement.value; });
  `);
  await button.click();
  await button.page().getByText('Copied').first().waitFor();
  return page.evaluate('globalThis.copied');
}

async function textOfKey(page: Page): Promise<string> {
  await page.getByText('Copy it now').waitFor();
  const text = String(await dialog(page).locator('pre').first().textContent());
  assert.match(text, /^ak_[0-9a-z]{16}_[\w-]{43}$/);
  return text;
}
