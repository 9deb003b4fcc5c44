import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import { cliCommand } from '../support/cli-command.ts';
import { buildPage, fillSignIn, startBrowser, visit } from './support.ts';

/**
 * Pictures of the page in front of the demo's companies, for README and docs: each view in both themes, as wide as a
 * desk and a phone. Run by `npm run screenshots`; `npm run screenshots -- event` takes those of one view.
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
      await page.locator('.receipt .drawn').first().waitFor();
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
      await page.locator('[role=tabpanel] dd').nth(8).waitFor();
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

function startDemo(): Promise<{ demo: Demo; stop: () => void }> {
  const child = spawn(process.execPath, [...cliCommand, 'demo', '--json', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, RATE_LIMIT_TENANT: 'off', EVIDENCE_INTERVAL: '1s' },
  });
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the demo ended with ${code}`)));
    createInterface(child.stdout).once('line', (line) =>
      resolve({ demo: JSON.parse(line) as Demo, stop: () => child.kill('SIGTERM') }),
    );
  });
}

async function takeAll(browser: Browser, demo: Demo): Promise<void> {
  const admin = demo.organizations[0]?.logins.find(({ role }) => role === 'admin');
  if (admin === undefined) throw new Error('the demo has no administrator');
  for (const size of sizes) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, context } = await visit(browser, demo.url, { ...size, colorScheme });
      await fillSignIn(page, admin.email, admin.password);
      await page.locator('.bar').waitFor();
      for (const [name, show] of pictures.filter(([name]) => wanted.length === 0 || wanted.includes(name))) {
        await show(page, demo.url);
        await page.locator('[data-stale=true], .skeleton').first().waitFor({ state: 'detached' });
        await page.mouse.move(0, 0);
        await page.screenshot({
          path: `${folder}/${name}-${colorScheme}-${size.width}.png`,
          animations: 'disabled',
        });
      }
      await context.close();
    }
  }
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
