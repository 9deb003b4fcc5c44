import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchBrowser } from '../lab/browser.ts';
import type { Lab } from '../lab/lab.ts';
import type { ReadData } from '../lab/read-data.ts';
import { sideBySide, type Slice } from '../lab/side-by-side.ts';
import { createHistogram, quantilesMs } from '../stats/histogram.ts';
import type { CaseResult } from '../stats/result.ts';
import { median } from '../stats/summary.ts';
import { Unavailable } from './endpoints.ts';

/** The web page in a browser, with all rows. */
export interface WebPlan {
  readonly seconds: number;
  readonly rounds: number;
}

const password = 'a password for the bench';
const scrolledRows = 100_000;
/** Three rows a frame, like fast scrolling. */
const scrollPixels = 84;

/** Measures when the first table row with an event is drawn. Runs in the page before its own scripts. */
const noteFirstRow = `
  globalThis.firstRow = new Promise((resolve) => {
    new MutationObserver((_, observer) => {
      if (document.querySelector('.row[aria-selected]') === null) return;
      observer.disconnect();
      requestAnimationFrame(() => resolve(performance.now()));
    }).observe(document, { childList: true, subtree: true });
  });
`;

interface Load {
  readonly firstPaintMs: number;
  readonly firstRowMs: number;
  readonly threadMs: number;
  /** Sent sizes of the page's files and of the API's answers. */
  readonly fileBytes: number;
  readonly apiBytes: number;
}

const loadFigures = `(async () => {
  // The entry of a paint may come after the rows that were drawn with it.
  const firstPaint = new Promise((resolve) => {
    const find = (list) => list.getEntries().filter(({ name }) => name === 'first-contentful-paint').forEach(resolve);
    new PerformanceObserver(find).observe({ type: 'paint', buffered: true });
  });
  const bytes = (test) => performance.getEntries()
    .filter(({ name, encodedBodySize }) => encodedBodySize > 0 && test(new URL(name).pathname))
    .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
  return {
    firstPaintMs: (await firstPaint).startTime,
    firstRowMs: await globalThis.firstRow,
    fileBytes: bytes((path) => !path.startsWith('/api/')),
    apiBytes: bytes((path) => path.startsWith('/api/')),
  };
})()`;

/** Scrolls down and returns the milliseconds between frames. */
const scrollFrames = (seconds: number): string => `(async () => {
  const rows = document.querySelector('.virtual-rows');
  const frame = () => new Promise(requestAnimationFrame);
  const frames = [];
  let before = await frame();
  const end = before + ${seconds * 1000};
  while (before < end) {
    rows.scrollTop += ${scrollPixels};
    const now = await frame();
    frames.push(now - before);
    before = now;
  }
  return frames;
})()`;

/** Throws Unavailable without a browser. */
export async function benchWeb(
  lab: Lab,
  data: ReadData,
  plan: WebPlan,
  wanted: (id: string) => boolean,
): Promise<CaseResult[]> {
  const browser = await launchBrowser();
  if (browser === undefined) throw new Unavailable('NO CHROMIUM on this machine; CHROMIUM can name one');
  try {
    const cookie = await signIn(lab, data);
    const results: CaseResult[] = [];
    if (wanted('web.load')) results.push(await benchLoad(lab, data, plan, { browser, cookie }));
    if (wanted('web.scroll')) results.push(await benchScroll(lab, data, plan, { browser, cookie }));
    return results;
  } finally {
    await browser.close();
  }
}

/** The session of a new auditor, as `name=value`. */
async function signIn(lab: Lab, { id }: ReadData): Promise<string> {
  // Kept data may contain the user of an earlier run.
  const email = `bench-${Date.now()}@reads.example`;
  const user = ['--org', id, '--email', email, '--name', 'Bench', '--role', 'auditor', '--password-stdin'];
  await lab.service.cli(['user', 'create', ...user], password);
  const answer = await fetch(`${lab.service.url}/api/v1/auth/login-handler`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  if (!answer.ok) throw new Error(`a login answers ${answer.status}`);
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

interface Visitor {
  readonly browser: Browser;
  readonly cookie: string;
}

/** A browser profile that contains only the session. */
async function newContext(lab: Lab, { browser, cookie }: Visitor): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const [name = '', value = ''] = cookie.split('=');
  await context.addCookies([{ name, value, url: lab.service.url }]);
  await context.addInitScript(noteFirstRow);
  return context;
}

/** Processor time of the page's main thread in milliseconds, without other work of the machine. */
type ThreadClock = () => Promise<number>;

async function threadClock(page: Page): Promise<ThreadClock> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1000;
  };
}

interface Opened {
  readonly page: Page;
  readonly threadMs: ThreadClock;
}

/** At the first rows of a query. */
async function openEvents(lab: Lab, context: BrowserContext, query: string): Promise<Opened> {
  const page = await context.newPage();
  const threadMs = await threadClock(page);
  await page.goto(`${lab.service.url}/#/events?${query}`);
  await page.evaluate('globalThis.firstRow');
  return { page, threadMs };
}

/** Time from an empty cache to the first rows of all events, for one load after the other. */
async function benchLoad(lab: Lab, data: ReadData, plan: WebPlan, visitor: Visitor): Promise<CaseResult> {
  const loads: Load[] = [];
  const load = async (): Promise<Load> => {
    const context = await newContext(lab, visitor);
    const { page, threadMs } = await openEvents(lab, context, 'range=all');
    const busyMs = await threadMs();
    const figures = await page.evaluate<Omit<Load, 'threadMs'>>(loadFigures);
    await context.close();
    return { ...figures, threadMs: busyMs };
  };
  await load();
  const measured = await sideBySide(lab, {
    id: 'web.load',
    title: `the web page until its first rows, ${data.rows()} events, empty cache`,
    unit: 'loads',
    rounds: plan.rounds,
    async service(): Promise<Slice> {
      const latency = createHistogram();
      const began = performance.now();
      let units = 0;
      do {
        const figures = await load();
        loads.push(figures);
        latency.record(figures.firstRowMs * 1000);
        units += 1;
      } while (performance.now() - began < (plan.seconds / plan.rounds) * 1000);
      return { units, seconds: (performance.now() - began) / 1000, latency: latency.data() };
    },
  });
  const middle = (of: (load: Load) => number): number => median(loads.map(of));
  const notes = [
    `first paint ${middle(({ firstPaintMs }) => firstPaintMs).toFixed(0)} ms, first rows ${middle(({ firstRowMs }) => firstRowMs).toFixed(0)} ms after the address is opened (medians of ${loads.length}); processor time of the page's thread until then ${middle(({ threadMs }) => threadMs).toFixed(0)} ms`,
    `files ${(middle(({ fileBytes }) => fileBytes) / 1024).toFixed(1)} KB, answers of the API ${(middle(({ apiBytes }) => apiBytes) / 1024).toFixed(1)} KB, as sent`,
  ];
  return { ...measured, notes };
}

/** Frames while the page scrolls; a browser draws at most 60 a second. */
async function benchScroll(lab: Lab, data: ReadData, plan: WebPlan, visitor: Visitor): Promise<CaseResult> {
  const context = await newContext(lab, visitor);
  const share = Math.max(0, 1 - scrolledRows / data.rows());
  const { page, threadMs } = await openEvents(lab, context, `from=${data.timeAt(share)}`);
  let [busyMs, drawn] = [0, 0];
  const measured = await sideBySide(lab, {
    id: 'web.scroll',
    title: `scrolling ${Math.min(scrolledRows, data.rows())} rows of ${data.rows()} events, three a frame`,
    unit: 'frames',
    rounds: plan.rounds,
    async service(): Promise<Slice> {
      await page.locator('.virtual-rows').evaluate((rows) => rows.scrollTo(0, 0));
      const before = await threadMs();
      const frames = await page.evaluate<number[]>(scrollFrames(plan.seconds / plan.rounds));
      busyMs += (await threadMs()) - before;
      drawn += frames.length;
      const latency = createHistogram();
      for (const ms of frames) latency.record(ms * 1000);
      const seconds = frames.reduce((sum, ms) => sum + ms, 0) / 1000;
      return { units: frames.length, seconds, latency: latency.data() };
    },
  });
  await context.close();
  const [p50, p99] = quantilesMs(measured.service.latency ?? [], [0.5, 0.99]);
  const note =
    `from frame to frame p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms; ` +
    `processor time of the page's thread ${(busyMs / drawn).toFixed(1)} ms a frame`;
  return { ...measured, notes: [note] };
}
