import { strict as assert } from 'node:assert';
import { afterEach, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createUser } from '../e2e/session-support.ts';
import { createTenant, sourceEvent } from '../support/server.ts';
import { findingsOf, sharedPage, type SharedPage, withoutBrowser } from './support.ts';

/**
 * Each view in each theme, with forced colours, at each width: nothing that keeps people out. Menus and dialogs are in the
 * tests of their views.
 */

const email = 'ada@open.example';
const until = '2024-12-31T00:00:00Z';
const ofThen = `#/events?range=all&to=${until}`;

/** A desk, a window beside another one, a phone, and 400 % on a small screen. */
const sizes = [
  { width: 1440, height: 900 },
  { width: 800, height: 700 },
  { width: 360, height: 700 },
  { width: 320, height: 256 },
];
/** In each look; in those after the first, which differs from them in colours alone, by the rules of colours. */
const looks = [
  { name: 'light', media: { colorScheme: 'light', forcedColors: 'none' } },
  { name: 'dark', media: { colorScheme: 'dark', forcedColors: 'none' } },
  { name: 'forced colours', media: { colorScheme: 'light', forcedColors: 'active' } },
] as const;
const ofColours = ['color-contrast', 'link-in-text-block'];
/** The first width has all rules and looks; at the others, which differ in layout alone, those of places are held. */
const ofPlaces = ['aria-hidden-focus', 'color-contrast', 'scrollable-region-focusable'];

type Show = (page: Page) => Promise<unknown>;

/** Where it is, and what is there once all of it is. */
const at = (place: string, there: string): readonly [place: string, Show] => [
  place,
  (page) => page.locator(there).first().waitFor(),
];
const tab = (name: string, there: string): readonly [place: string, Show] => [
  ofThen,
  async (page) => {
    await page.locator('.row[aria-selected]').first().click();
    await page.getByRole('radio', { name }).click();
    await page.locator(there).first().waitFor();
  },
];
const dialog = (button: string): readonly [place: string, Show] => [
  ofThen,
  async (page) => {
    await page.getByRole('button', { name: button }).click();
    await page.locator('dialog[open] .count').waitFor();
  },
];
const inside: Readonly<Record<string, readonly [place: string, Show]>> = {
  overview: at('#/overview', '.heat a'),
  events: at(ofThen, '.chart .success'),
  'an event in words': tab('Summary', '.evidence dd'),
  'what was before and after it': tab('Before and after', '.flow li'),
  'its JSON': tab('JSON', '.json .key'),
  'its source event': tab('Source event', '.json .key'),
  'an export': dialog('Export'),
  'a case file': dialog('Case file'),
  receipts: at('#/receipts', '.receipts .drawn'),
  keys: at('#/api-keys', 'tbody th[scope=row]'),
  users: at('#/users', 'tbody th[scope=row]'),
  settings: at('#/settings', '.retention'),
};
const outside: typeof inside = {
  'sign-in': at('', 'input[name=password]'),
  'a new password': at('#/password?token=none', 'input[name=next]'),
  'the API': [
    'docs',
    async (page) => {
      await page.locator('.operation summary').first().click();
      await page.locator('.operation[open] .answer').first().waitFor();
    },
  ],
};

let shared: SharedPage;

describe('each view of the web page', { skip: withoutBrowser() }, () => {
  before(async () => {
    shared = await sharedPage();
    const tenant = await createTenant(shared.server, 'open');
    await createUser(shared.server, 'open', 'admin', email);
    const events = Array.from({ length: 60 }, (_, n) =>
      sourceEvent({
        timestamp: Date.UTC(2024, 4, 6) * 1000 + n * 1_000_000,
        actor: { email, name: 'Ada' },
        action: 2000 + (n % 2),
        flow_id: '5f0c3a52-7c1b-4ad0-8a2e-3f6f1f0f9a12',
        target: 'The report of the second quarter.pdf',
        result: { code: n % 5 === 0 ? 403 : 200 },
        extra: { fileSize: n },
      }),
    );
    await tenant.record(events);
    await tenant.settled(events.length, { endTime: until });
  });
  afterEach(() => shared.closeVisits());

  test('keeps nobody out, in any theme, with forced colours, at any width', async () => {
    const within = await shared.open(email, '#/users');
    const without = await shared.visit();
    const found = [...(await findings(within, inside)), ...(await findings(without, outside))];
    assert.deepEqual(found, []);
  });

  test('also while a list waits for its answer', async () => {
    const page = await shared.open(email, '#/users');
    await page.route('**/portal/api-keys', () => undefined);
    await page.evaluate("location.hash = '#/api-keys'");
    await page.locator('table[aria-busy=true] .skeleton').first().waitFor();
    assert.deepEqual(await findingsOf(page), []);
  });
});

async function findings(page: Page, views: typeof inside): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const [view, [place, show]] of Object.entries(views)) {
    await page.setViewportSize(sizes[0] ?? { width: 1440, height: 900 });
    await page.goto('about:blank');
    await page.goto(`${shared.server.url}/${place}`);
    await show(page);
    for (const [at, size] of sizes.entries()) {
      await page.setViewportSize(size);
      for (const { name, media } of at === 0 ? looks : looks.slice(0, 1)) {
        // Without motion: a colour on its way from one to the other is neither.
        await page.emulateMedia({ ...media, reducedMotion: 'reduce' });
        const all = await findingsOf(page, at > 0 ? ofPlaces : name === 'light' ? undefined : ofColours);
        found.push(...all.map((finding) => [view, name, size.width, ...finding]));
      }
      const width = await page.evaluate('document.documentElement.scrollWidth');
      if (width !== size.width) found.push([view, 'is as wide as', width, 'not', size.width]);
    }
  }
  return found;
}
