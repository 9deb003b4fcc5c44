import { strict as assert } from 'node:assert';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import axe from 'axe-core';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { password } from '../e2e/session-support.ts';
import { patience } from '../support/patience.ts';
import type { TestServer } from '../support/server.ts';

/** A real browser in front of the page: the system's, since playwright-core brings none and downloads none. */
const browsers = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath =
  process.env['CHROMIUM'] ?? browsers.find((path) => existsSync(path)) ?? browsers[0] ?? '';
const args = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const waitMsMax = 6_000;
const projectRoot = fileURLToPath(new URL('../../', import.meta.url));

/** For the option `skip` of tests: true, and loudly so, where there is no browser. */
export function withoutBrowser(): boolean {
  if (existsSync(executablePath)) return false;
  process.stderr.write(
    `\n!!! NO BROWSER at ${executablePath}: tests of the web page are SKIPPED. Install chromium.\n\n`,
  );
  return true;
}

/** Builds the page unless what is built is newer than its sources; to be called before the server is started. */
export function buildPage(): void {
  const built = `${projectRoot}dist/web/index.html`;
  const sources = readdirSync(`${projectRoot}web`, { recursive: true, encoding: 'utf8' });
  const newest = Math.max(...sources.map((name) => statSync(`${projectRoot}web/${name}`).mtimeMs));
  if (existsSync(built) && statSync(built).mtimeMs >= newest) return;
  const { status, stderr } = spawnSync('npm', ['run', '-s', 'build:web'], {
    cwd: projectRoot,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the page cannot be built: ${stderr}`);
}

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath, args });
}

/** A page in a browser profile of its own, and what went wrong in it: each test ends with none. */
export interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors of scripts, refusals of the security policy, dialogs. */
  readonly faults: string[];
}

export interface VisitOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
}

export async function visit(browser: Browser, url: string, options: VisitOptions = {}): Promise<Visit> {
  const { colorScheme = 'light', width = 1280, height = 800 } = options;
  const viewport = { width, height };
  const settings = { viewport, colorScheme, locale: 'en-GB', timezoneId: 'Europe/Berlin' } as const;
  const context = await browser.newContext(settings);
  context.setDefaultTimeout(patience(waitMsMax));
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    // What is refused by the server is said there as well, and is part of tests.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
      faults.push(message.text());
  });
  await page.goto(url);
  return { context, page, faults };
}

/** Fills the form for signing in, wherever it is. */
export async function fillSignIn(
  page: Page,
  email: string | undefined,
  secret: string = password,
): Promise<void> {
  const form = page.locator('form', { has: page.locator('input[name=password]') });
  if (email !== undefined) await form.locator('input[name=email]').fill(email);
  await form.locator('input[name=password]').fill(secret);
  await form.locator('button[type=submit]').click();
}

/** A visit of somebody who has signed in, at an address of the page such as `#/events?range=all`. */
export async function visitAs(
  browser: Browser,
  server: TestServer,
  email: string,
  place = '',
  options: VisitOptions = {},
): Promise<Visit> {
  const visitor = await visit(browser, `${server.url}/${place}`, options);
  await fillSignIn(visitor.page, email);
  await visitor.page.locator('.bar').waitFor();
  return visitor;
}

/** Ends the visits of a test; fails it where a page threw or logged an error. */
export async function closeVisits(visits: Visit[]): Promise<void> {
  for (const { context, faults } of visits.splice(0)) {
    assert.deepEqual(faults, []);
    await context.close();
  }
}

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** No finding of axe that is serious or worse. Run as the browser's own, since the page lets no other script in. */
export async function assertAccessible(page: Page): Promise<void> {
  await page.evaluate(axe.source);
  const findings = await page.evaluate<Finding[]>('axe.run().then(({ violations }) => violations)');
  const grave = findings.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  assert.deepEqual(
    grave.map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`)]),
    [],
  );
}
