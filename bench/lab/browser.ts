import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';

/** The system's own; none is downloaded. */
const paths = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** The same without all that is around a page: four times cheaper, where it is not the browser that is measured. */
const shellPaths = ['/usr/bin/chromium-headless-shell', ...paths];
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

function firstOf(candidates: readonly string[]): string | undefined {
  return [process.env['CHROMIUM'] ?? candidates].flat().find((path) => existsSync(path));
}

/** Where the cheapest browser for tests is (`CHROMIUM` names one); undefined where the machine has none. */
export function testBrowserPath(): string | undefined {
  return firstOf(shellPaths);
}

/** A browser without a window; undefined where the machine has none. The tests of the web page use it, too. */
export async function launchBrowser(executablePath = firstOf(paths)): Promise<Browser | undefined> {
  if (executablePath === undefined) return undefined;
  // Only now: other cases do without it, and it takes a while to load.
  const { chromium } = await import('playwright-core');
  return chromium.launch({ executablePath, args });
}
