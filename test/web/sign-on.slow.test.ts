import { strict as assert } from 'node:assert';
import { after, afterEach, before, describe, test } from 'node:test';
import { createUser } from '../e2e/session-support.ts';
import { call, eventually } from '../support/http.ts';
import { type OidcProvider, startOidcProvider } from '../support/oidc-provider.ts';
import { createOrganization, createTenant, printed } from '../support/server.ts';
import { assertAccessible, sharedPage, type SharedPage, withoutBrowser } from './support.ts';

const slug = 'sign-on-page';
const email = 'pia@sign-on-page.example';
let shared: SharedPage;
let provider: OidcProvider;

interface Options {
  readonly sign_on: boolean;
  readonly passwords: boolean;
}

/** Runs a command, and waits until the server goes by it. */
async function run(
  args: readonly string[],
  isKnown: (options: Options) => boolean,
  { org = slug, stdin = '' } = {},
) {
  const { server } = shared;
  printed(await server.cliHere([...args, '--json'], stdin));
  await eventually('the server to know', async () => {
    const { text } = await call(`${server.url}/api/v1/auth/sign-on-options?organization=${org}`);
    return isKnown(JSON.parse(text) as Options) ? true : undefined;
  });
}

/** By the provider, or by none any more. */
const setSignOn = (args: readonly string[], { org = slug, stdin = '' } = {}) =>
  run(
    ['sign-on', 'set', '--org', org, ...args],
    ({ sign_on: isThere }) => isThere === args.includes('--issuer'),
    { org, stdin },
  );

const setPasswords = (choice: 'on' | 'off') =>
  run(
    ['org', 'set', '--org', slug, '--passwords', choice],
    ({ passwords }) => passwords === (choice === 'on'),
  );

describe('the page of somebody who signs in by a provider', { skip: withoutBrowser() }, () => {
  before(async () => {
    shared = await sharedPage();
    const { server } = shared;
    await createTenant(server, slug);
    await createUser(server, slug, 'admin', email);
    provider = await startOidcProvider([`${server.url}/api/v1/auth/sign-on/callback/${slug}`]);
    const client = ['--issuer', provider.issuer, '--client-id', provider.clientId, '--client-secret-stdin'];
    await setSignOn(client, { stdin: provider.clientSecret });
  });
  afterEach(() => shared.closeVisits());
  after(async () => {
    await setSignOn(['--provider', 'off']);
    await provider.stop();
  });

  test('goes there by keyboard, and comes back to where it was', async () => {
    provider.account = { sub: 'pia', email, email_verified: true, name: 'Pia' };
    const page = await shared.visit('#/settings');
    const way = page.getByRole('link', { name: 'account' });
    await way.waitFor();
    await assertAccessible(page);
    await way.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    assert.match(page.url(), /#\/settings$/);
    // A session that ends in the middle of work can go on the same way.
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'Users' }).click();
    await page.getByRole('dialog').getByRole('link', { name: 'account' }).click();
    await page.locator('tbody tr', { hasText: email }).waitFor();
  });

  test('names its organization where several have a provider, by keyboard', async () => {
    provider.account = { sub: 'pia', email, email_verified: true, name: 'Pia' };
    const org = 'sign-on-page-too';
    await createOrganization(shared.server, org);
    await setSignOn(['--issuer', 'https://idp.example', '--client-id', 'x'], { org });
    try {
      const page = await shared.visit('#/settings');
      const name = async (words: string) => {
        await page.getByRole('button', { name: 'account' }).click();
        const field = page.getByLabel('Organization', { exact: true }).and(page.locator(':focus'));
        await field.waitFor();
        await assertAccessible(page);
        await page.keyboard.type(words);
        await page.keyboard.press('Enter');
      };
      await name('nobodys');
      await page.getByRole('alert').getByText('No organization of this name uses this sign-in.').waitFor();
      await name(` ${slug.toUpperCase()} `);
      await page.locator('.account .menu').waitFor();
    } finally {
      await setSignOn(['--provider', 'off'], { org });
    }
  });

  test('says why it came to nothing, in the language of the person', async () => {
    provider.account = { sub: 'eve', email: 'eve@elsewhere.example', email_verified: true };
    const page = await shared.visit();
    await page.getByRole('link', { name: 'account' }).click();
    await page.getByRole('alert').getByText('You are not a user of this organization').waitFor();
    await page.getByText('Reference').waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Deutsch' }).click();
    await page.getByRole('alert').getByText('Sie sind in dieser Organisation nicht angelegt').waitFor();
    const forged = await shared.visit('#/sign-in?fault=%3Cb%3Econstructor&reference=%3Cimg%20src=x%3E');
    await forged.getByRole('alert').getByText('could not be signed in').waitFor();
    assert.equal(await forged.locator('.fault img').count(), 0);
  });

  test('offers nothing of passwords where these are off', async () => {
    provider.account = { sub: 'pia', email, email_verified: true, name: 'Pia' };
    const page = await shared.visit('#/users');
    await page.getByRole('link', { name: 'account' }).click();
    await page.locator('tbody tr', { hasText: email }).waitFor();
    const said = async (ask: () => Promise<unknown>) => {
      const answered = page.waitForResponse(/sign-on-options/);
      await ask();
      await (await answered).finished();
    };
    const ann = page.locator('tbody tr', { hasText: 'Ann' });
    await setPasswords('off');
    try {
      await said(() => page.reload());
      await page.getByRole('button', { name: 'New user' }).click();
      await page.getByLabel('Name', { exact: true }).fill('Ann');
      await page.getByLabel('E-mail address').fill('ann@sign-on-page.example');
      await page.getByRole('button', { name: 'Create user' }).click();
      await ann.waitFor();
      assert.equal(await page.locator('dialog').count(), 0);
      await ann.locator('.menu > button').click();
      assert.deepEqual(await ann.locator('.menu-panel button').allTextContents(), ['Change role', 'Disable']);
      await said(() => page.locator('.account .menu > button').click());
      assert.deepEqual(await page.locator('.account-panel > button').allTextContents(), [
        'Deutsch',
        'Sign out',
      ]);
    } finally {
      await setPasswords('on');
    }
    await page.reload();
    await page.locator('.account .menu > button').click();
    await page.getByRole('button', { name: 'Change password' }).waitFor();
  });
});
