import { strict as assert } from 'node:assert';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { unzip } from '../../src/base/bytes/zip.ts';
import { createUser, password } from '../e2e/session-support.ts';
import { eventually } from '../support/http.ts';
import { createTenant, type SharedServer, sourceEvent } from '../support/server.ts';
import { Firefox, keys, withoutFirefox } from './firefox.ts';
import { pageServer } from './support.ts';

/** What a person does every day, in the other browser. Everything else is tested in Chromium. */

/** 2024-05-06T00:00:00Z */
const start = Date.UTC(2024, 4, 6) * 1000;
const events = 60;
const failures = 15;
const ofThen = '#/events?range=all&to=2024-12-31T00:00:00Z';
const row = '.row[aria-selected]';
const count = (text: string) => `//strong[@role="status"][contains(., "${text}")]`;

let server: SharedServer;
let firefox: Firefox;

/** What the browser has written, once that has its name: an empty file keeps this until then. */
const download = (end: '.csv' | '.zip') =>
  eventually('the file', async () => {
    const names = await readdir(firefox.downloads);
    const name = names.find((one) => one.endsWith(end));
    if (name === undefined || names.some((one) => one.endsWith('.part'))) return undefined;
    const bytes = await readFile(join(firefox.downloads, name));
    return bytes.length > 0 ? bytes : undefined;
  });

describe('the web page in Firefox', { skip: withoutFirefox() }, () => {
  before(async () => {
    [server, firefox] = await Promise.all([pageServer(), Firefox.start()]);
    const tenant = await createTenant(server, 'fox');
    const list = Array.from({ length: events }, (_, at) =>
      sourceEvent({
        timestamp: start + at * 1_000_000,
        action: 1001,
        actor: { name: `User ${at % 3}`, email: `user${at % 3}@a.example` },
        result: { code: at % 4 === 0 ? 403 : 200 },
      }),
    );
    await tenant.record(list);
    await tenant.settled(events, { endTime: '2024-12-31T00:00:00Z' });
    await createUser(server, 'fox', 'auditor', 'fox@a.example');
  });
  after(() => firefox?.close());

  test('signs in, filters, opens and closes an event, and exports what is shown', async () => {
    await firefox.goto(`${server.url}/${ofThen}`);
    await firefox.type('input[name=email]', 'fox@a.example');
    await firefox.type('input[name=password]', password + keys.enter);
    await firefox.find(count('60 events'));
    await firefox.find(row);

    await firefox.click('//aside//button[contains(., "Failure")]');
    await firefox.find(count('15 events'));
    const shown = await firefox.evaluate<string[]>(
      `[...document.querySelectorAll('${row} .actor')].map(({ title }) => title)`,
    );
    assert.equal(shown.length, failures);

    await firefox.click(row);
    await firefox.click('//label[contains(., "JSON")]');
    await firefox.find('//*[@class="detail-panel"]//pre[contains(., "activity_id")]');
    await firefox.press(keys.escape);
    const focus = "document.activeElement.getAttribute('role')";
    await eventually('the focus', async () => (await firefox.evaluate(focus)) === 'grid' || undefined);
    assert.equal(await firefox.evaluate("document.querySelector('.detail')"), null);

    await firefox.click('button.export');
    await firefox.click('//label[contains(., "CSV")]');
    await firefox.click('//dialog//button[contains(., "Export")]');
    const exported = parse<{ actor_email: string }>(await download('.csv'), { columns: true });
    assert.deepEqual(
      exported.map(({ actor_email: email }) => email),
      shown,
    );
    await firefox.click('//button[contains(., "Case file")]');
    await firefox.click('//dialog//button[contains(., "Create")]');
    const files = await unzip(await download('.zip'), 1_000_000);
    assert.equal(files.get('events.ndjson')?.toString().trimEnd().split('\n').length, failures);
    assert.deepEqual(await firefox.faults(server.url), []);
  });

  test('would tell of what the security policy refuses', async () => {
    await firefox.evaluate(
      "document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/x.png' }))",
    );
    const faults = await eventually('a fault', async () => {
      const found = await firefox.faults(server.url);
      return found.length > 0 ? found : undefined;
    });
    assert.match(String(faults), /CSP/);
  });
});
