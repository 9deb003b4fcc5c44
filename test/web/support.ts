import { strict as assert } from 'node:assert';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchBrowser, testBrowserPath } from '../../bench/lab/browser.ts';
import { password } from '../e2e/session-support.ts';
import { eventually } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import { startServer, type TestServer } from '../support/server.ts';

const waitMsMax = 6_000;
const projectRoot = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Limits so short that a test can wait for them, and so wide that a person's work stays within; the one of API keys is
 * what administrators are told they cannot go beyond.
 */
const limitsOfPage = {
  RATE_LIMIT_TENANT: '30/2s',
  RATE_LIMIT_AUDIT: '300/15s',
  RATE_LIMIT_LOGIN: 'off',
};

/** For the option `skip` of tests: true, and loudly so, where there is no browser. */
export function withoutBrowser(): boolean {
  if (testBrowserPath() !== undefined) return false;
  process.stderr.write(
    '\n!!! NO BROWSER: tests of the web page are SKIPPED. Install chromium-headless-shell or chromium.\n\n',
  );
  return true;
}

/** Builds the page unless what is built is newer than its sources; before the server is started. */
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

/** A real browser: the system's, since playwright-core brings none and downloads none. */
export async function startBrowser(): Promise<Browser> {
  const browser = await launchBrowser(testBrowserPath());
  assert.ok(browser);
  return browser;
}

/** One service with the page, and one browser in front of it, for all test files of this process. */
let served: Promise<TestServer> | undefined;
let started: Promise<Browser> | undefined;

/** The service alone, for another browser. */
export function pageServer(): Promise<TestServer> {
  if (served === undefined) buildPage();
  served ??= startServer({ env: limitsOfPage, intervals: { evidenceMs: 1000 } });
  return served;
}

after(async () => {
  await (await started)?.close();
  await (await served)?.stop();
});

/** A page in a browser profile of its own, and what went wrong in it: each test ends with none. */
interface Visit {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors of scripts, refusals of the security policy, dialogs. */
  readonly faults: string[];
}

export interface VisitOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  readonly timezoneId?: string;
}

export async function visit(browser: Browser, url: string, options: VisitOptions = {}): Promise<Visit> {
  const { colorScheme = 'light', width = 1280, height = 800, timezoneId = 'Europe/Berlin' } = options;
  const viewport = { width, height };
  const settings = { viewport, colorScheme, locale: 'en-GB', timezoneId } as const;
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

/** The shared service through the shared browser, as the tests of one file use it. */
export interface SharedPage {
  readonly server: TestServer;
  /** A visit at a place such as `#/events?range=all`, or at a whole address. */
  visit(place?: string, options?: VisitOptions): Promise<Page>;
  /** The same of somebody who has signed in. */
  open(email: string, place?: string, options?: VisitOptions): Promise<Page>;
  /** Ends the visits of a test; fails it where a page threw or logged an error. */
  closeVisits(): Promise<void>;
}

export async function sharedPage(): Promise<SharedPage> {
  const starting = pageServer();
  started ??= startBrowser();
  const [server, browser] = await Promise.all([starting, started]);
  const visits: Visit[] = [];
  const visitPlace: SharedPage['visit'] = async (place = '', options) => {
    const url = place.startsWith('http') ? place : `${server.url}/${place}`;
    const visitor = await visit(browser, url, options);
    visits.push(visitor);
    return visitor.page;
  };
  return {
    server,
    visit: visitPlace,
    async open(email, place, options) {
      const page = await visitPlace(place, options);
      await fillSignIn(page, email);
      await page.locator('.bar').waitFor();
      return page;
    },
    async closeVisits() {
      for (const { context, faults } of visits.splice(0)) {
        assert.deepEqual(faults, []);
        await context.close();
      }
    },
  };
}

/** Waits until an expression is true in the page, whose policy lets no function wait in it that is made of a text. */
export async function untilTrue(page: Page, expression: string): Promise<void> {
  await eventually(expression, async () => (await page.evaluate<boolean>(expression)) || undefined);
}

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** The same in light and dark, which differ in colours alone; each of the many rules costs the browser its time. */
export async function assertAccessibleInBoth(page: Page): Promise<void> {
  // Without motion, from now on: a colour on its way from one to the other is neither.
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await assertAccessible(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  await assertAccessible(page, ['color-contrast', 'link-in-text-block']);
  await page.emulateMedia({ colorScheme: 'light' });
}

/** No finding of axe, whatever its weight. */
export async function assertAccessible(page: Page, rules?: readonly string[]): Promise<void> {
  assert.deepEqual(await findingsOf(page, rules), []);
}

/** What axe finds, each with its elements. Run as the browser's own, since the page lets no other script in. */
export async function findingsOf(page: Page, rules?: readonly string[]): Promise<[string, string[]][]> {
  // What is of another query is faint until the answer to this one is there.
  await untilTrue(page, 'document.querySelector(\'[data-stale="true"]\') === null');
  if (await page.evaluate<boolean>("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  const options = JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) });
  const findings = await page.evaluate<Finding[]>(`axe.run(${options}).then(({ violations }) => violations)`);
  return findings.map(({ id, nodes }) => [
    id,
    nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`),
  ]);
}
