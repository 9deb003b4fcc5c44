import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import { cliCommand } from '../support/cli-command.ts';
import { buildPage, fillSignIn, startBrowser, visit, type VisitOptions } from './support.ts';

/**
 * Pictures of the page in front of the demo's companies, for README and docs: each view in both themes, as wide as a
 * desk and a phone. Run by `npm run screenshots`; `npm run screenshots -- event` takes those of one view, `-- tour` those of
 * the tour.
 */
const folder = 'docs/pictures';
const wanted = process.argv.slice(2);
const sizes = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
];

interface Demo {
  readonly url: string;
  readonly organizations: readonly {
    readonly logins: readonly { readonly email: string; readonly role: string; readonly password: string }[];
  }[];
}

/** What a picture is of, and how the page comes there. */
const pictures: readonly (readonly [name: string, show: (page: Page, url: string) => Promise<void>])[] = [
  [
    'overview',
    async (page, url) => {
      await page.goto(`${url}/#/overview`);
      await page.locator('.heat').waitFor();
    },
  ],
  [
    'receipts',
    async (page, url) => {
      await page.goto(`${url}/#/receipts`);
      await page.locator('.receipts .drawn').first().waitFor();
    },
  ],
  [
    'events',
    async (page, url) => {
      await page.goto(`${url}/#/events?range=7d`);
      await page.locator('.row[aria-selected]').first().waitFor();
      await page.locator('.facets button').first().waitFor({ state: 'attached' });
      await page.locator('.chart .success').first().waitFor();
    },
  ],
  [
    'event',
    async (page, url) => {
      await page.goto(`${url}/#/events?range=7d&activity=2001`);
      await page.locator('.row[aria-selected]', { hasText: 'Upload completed' }).first().click();
      await page.locator('.detail-panel dd').nth(8).waitFor();
      await page.locator('.evidence').getByText('covered by the checkpoint').waitFor();
    },
  ],
  [
    'api-keys',
    async (page, url) => {
      await page.goto(`${url}/#/api-keys`);
      await page.locator('tbody th[scope=row]').first().waitFor();
    },
  ],
  [
    'users',
    async (page, url) => {
      await page.goto(`${url}/#/users`);
      await page.locator('tbody th[scope=row]').first().waitFor();
    },
  ],
  [
    'settings',
    async (page, url) => {
      await page.goto(`${url}/#/settings`);
      await page.locator('.retention').waitFor();
    },
  ],
];

const chosen = (page: Page) => page.locator('.detail-panel dd').nth(8).waitFor();
const value = (page: Page, text: string) => page.locator('.facts .value', { hasText: text }).first().click();
const rows = (page: Page, text = '') => page.locator('.row[aria-selected]', { hasText: text }).first();

/** Closes the event, and takes all filters away. */
async function unfilter(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  const buttons = page.locator('.chip button');
  for (let left = await buttons.count(); left > 0; left -= 1) await buttons.first().click();
}

/** Opens an event found by words, which a search on a busy machine reaches in several steps. */
async function openFound(page: Page, text: string): Promise<void> {
  const further = page.getByRole('button', { name: 'Search further back' });
  const row = rows(page, text);
  for (;;) {
    await page.locator('.search-reach').waitFor();
    await row.or(further).first().waitFor();
    if (await row.isVisible()) break;
    await further.click();
  }
  await row.click();
}

/** docs/tour-page.md: each picture is a step from the one before. */
const tour: typeof pictures = [
  [
    'tour-hour',
    async (page, url) => {
      await page.goto(`${url}/#/overview`);
      await page.locator('.heat a[data-shade=far-out]').first().click();
      await rows(page).waitFor();
    },
  ],
  [
    'tour-flow',
    async (page) => {
      await rows(page, 'Priya Shah').click();
      await page.getByRole('radio', { name: 'Before and after' }).click();
      await page.locator('.flow .here').waitFor();
    },
  ],
  [
    'tour-address',
    async (page) => {
      await page.getByRole('radio', { name: 'Summary' }).click();
      await value(page, '192.0.2.177');
      await page.getByRole('button', { name: 'Only this' }).click();
      await page.locator('.filter-bar .menu > button').click();
      await page.getByRole('button', { name: 'Last 30 days' }).click();
      await page.locator('.chip', { hasText: '192.0.2.177' }).waitFor();
      await page.locator('.facets button', { hasText: 'Login failed' }).waitFor();
    },
  ],
  [
    'tour-key',
    async (page) => {
      await rows(page, 'API key created').click();
      await chosen(page);
      await page.locator('.evidence').getByText('covered by the checkpoint').waitFor();
    },
  ],
  [
    'tour-telephone',
    async (page) => {
      await unfilter(page);
      await page.getByRole('combobox').fill('phone lost');
      await page.getByRole('option', { name: 'contains' }).click();
      await openFound(page, 'MFA disabled');
      await chosen(page);
    },
  ],
  [
    'tour-answer',
    async (page) => {
      await unfilter(page);
      await page.getByRole('combobox').fill('backup-sync nobody');
      await page.getByRole('option', { name: 'contains' }).click();
      await openFound(page, 'API key revoked');
      await page.getByRole('radio', { name: 'Before and after' }).click();
      await page.locator('.flow li', { hasText: 'Network rule created' }).waitFor();
    },
  ],
  [
    'tour-export',
    async (page) => {
      await unfilter(page);
      await page.getByRole('combobox').fill('priya.shah@acme.example');
      await page.getByRole('option', { name: 'actor is' }).first().click();
      await page.locator('.chip', { hasText: 'actor is' }).waitFor();
      await page.locator('.total[data-stale=false]').waitFor();
      await page.getByRole('button', { name: 'Export' }).click();
      await page.getByRole('dialog').getByRole('radio', { name: 'CSV' }).check();
    },
  ],
];

function startDemo(): Promise<{ demo: Demo; stop: () => void }> {
  const child = spawn(process.execPath, [...cliCommand, 'demo', '--json', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, RATE_LIMIT_TENANT: 'off' },
  });
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the demo ended with ${code}`)));
    createInterface(child.stdout).once('line', (line) =>
      resolve({ demo: JSON.parse(line) as Demo, stop: () => child.kill('SIGTERM') }),
    );
  });
}

/** Somebody who has signed in before a screen of this size. */
async function visitDemo(browser: Browser, demo: Demo, options: VisitOptions) {
  const admin = demo.organizations[0]?.logins.find(({ role }) => role === 'admin');
  if (admin === undefined) throw new Error('the demo has no administrator');
  const { page, context } = await visit(browser, demo.url, options);
  await fillSignIn(page, admin.email, admin.password);
  await page.locator('.bar').waitFor();
  return { page, context };
}

async function take(page: Page, name: string): Promise<void> {
  await page.locator('[data-stale=true], .skeleton').first().waitFor({ state: 'detached' });
  await page.mouse.move(0, 0);
  await page.screenshot({ path: `${folder}/${name}.png`, animations: 'disabled' });
}

async function takeAll(browser: Browser, demo: Demo): Promise<void> {
  for (const size of sizes) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, context } = await visitDemo(browser, demo, { ...size, colorScheme });
      for (const [name, show] of pictures.filter(([name]) => wanted.length === 0 || wanted.includes(name))) {
        await show(page, demo.url);
        await take(page, `${name}-${colorScheme}-${size.width}`);
      }
      await context.close();
    }
  }
  if (wanted.length > 0 && !wanted.includes('tour')) return;
  const { page, context } = await visitDemo(browser, demo, { width: 1280, height: 800 });
  for (const [name, show] of tour) {
    await show(page, demo.url);
    await take(page, name);
  }
  await context.close();
}

buildPage();
await mkdir(folder, { recursive: true });
const { demo, stop } = await startDemo();
const browser = await startBrowser();
try {
  await takeAll(browser, demo);
} finally {
  await browser.close();
  stop();
}
