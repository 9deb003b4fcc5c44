import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';

/** Browsers of the system; none is downloaded. */
const paths = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** The headless shell: four times cheaper, if the browser itself is not measured. */
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

/** Path of the cheapest browser for tests (or `CHROMIUM`); undefined without one. */
export function testBrowserPath(): string | undefined {
  return firstOf(shellPaths);
}

/** A headless browser; undefined without one. Tests of the web page use it, too. */
export async function launchBrowser(executablePath = firstOf(paths)): Promise<Browser | undefined> {
  if (executablePath === undefined) return undefined;
  // Loaded late, as it is slow and other cases do not need it.
  const { chromium } = await import('playwright-core');
  return chromium.launch({ executablePath, args });
}
