import { strict as assert } from 'node:assert';
import { afterEach, before, describe, test } from 'node:test';
import { createUser } from '../e2e/session-support.ts';
import { createTenant, sourceEvent, type Tenant } from '../support/server.ts';
import { sharedPage, type SharedPage, withoutBrowser } from './support.ts';

let shared: SharedPage;
let tenant: Tenant;

describe('the page of the API', { skip: withoutBrowser() }, () => {
  before(async () => {
    shared = await sharedPage();
    tenant = await createTenant(shared.server, 'docs');
    await createUser(shared.server, 'docs', 'member', 'member@docs.example');
    await tenant.record([sourceEvent({ timestamp: Date.UTC(2024, 4, 6) * 1000, actor: 'ana@docs.example' })]);
    await tenant.settled(1, { endTime: '2024-12-31T00:00:00Z' });
  });
  afterEach(() => shared.closeVisits());

  test('shows each operation, and asks those that take a key in place', async () => {
    const page = await shared.visit('docs');
    const operation = (name: string) => page.locator('.operation', { hasText: name }).first();
    const read = operation("Read audit events of the key's organization");
    await read.locator('summary').first().click();
    await read.getByText('This needs an API key, above.').waitFor();
    await page.getByLabel('API key').fill(tenant.key);
    await read.getByLabel('endTime').fill('2024-12-31T00:00:00Z');
    await read.getByLabel('limit', { exact: true }).fill('7');
    await read.getByRole('button', { name: 'Send' }).click();
    const answer = read.getByRole('group', { name: 'Answer' });
    await answer.getByRole('heading', { name: /^200 .*endTime=2024-12-31T00%3A00%3A00Z&limit=7$/ }).waitFor();
    assert.match((await answer.textContent()) ?? '', /ana@docs\.example[^]*"total": 1,\s+"limit": 7/);
    await read.getByLabel('endTime').fill('2024-12-31');
    await read.getByRole('button', { name: 'Send' }).click();
    await answer.getByText('The server did not use: endTime.').waitFor();
    const write = operation('Record audit events');
    await write.locator('summary').first().click();
    await write.getByRole('button', { name: 'Send' }).click();
    await write.getByRole('heading', { name: '202 Accepted' }).waitFor();
    await write.getByText('Members of SourceEvent').first().click();
    await write.locator('.members dt', { hasText: 'message' }).first().waitFor();
  });

  test('is reached from the menu of everybody', async () => {
    const page = await shared.open('member@docs.example');
    await page.locator('.account .menu > button').click();
    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('heading', { name: 'Audit log service' }).waitFor();
  });
});
