import { existsSync } from 'node:fs';
import type { Browser } from 'playwright-core';

/** The system's own; none is downloaded. */
const paths = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
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

/** Where the browser is (`CHROMIUM` names one); undefined where the machine has none. */
export function browserPath(): string | undefined {
  return [process.env['CHROMIUM'] ?? paths].flat().find((path) => existsSync(path));
}

/** A browser without a window; undefined where the machine has none. The tests of the web page use it, too. */
export async function launchBrowser(): Promise<Browser | undefined> {
  const executablePath = browserPath();
  if (executablePath === undefined) return undefined;
  // Only now: other cases do without it, and it takes a while to load.
  const { chromium } = await import('playwright-core');
  return chromium.launch({ executablePath, args });
}
