import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import type { CliDeps, CliIo } from '../../src/cli/context.ts';
import { runCli } from '../../src/cli/program.ts';
import type { Figures } from '../../src/cli/top/figures.ts';
import { frameOf } from '../../src/cli/top/frame.ts';
import { Metrics, quantile } from '../../src/cli/top/metrics-text.ts';
import { Screen } from '../../src/cli/top/screen.ts';
import { cliCommand } from '../support/cli-command.ts';
import { call, eventually } from '../support/http.ts';
import { createTenant, sourceEvent, startServer, type Tenant, type TestServer } from '../support/server.ts';
import { withEngine } from '../e2e/export-support.ts';

/** A terminal: what is drawn on it, and the keys that are pressed. */
function terminal(columns: number, rows: number) {
  const drawn = { text: '', isRaw: false };
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => {
      drawn.isRaw = isRaw;
    },
  });
  const io: CliIo = {
    out: (text) => void (drawn.text += text),
    error: (text) => assert.fail(text),
    output: Object.assign(new PassThrough(), { isTTY: true, columns, rows }),
    input,
  };
  return { drawn, input, io };
}

const [enter, leave] = ['\u001b[?1049h\u001b[?25l', '\u001b[?25h\u001b[?1049l'];

const figures: Figures = {
  at: '2026-01-02T03:04:05.000Z',
  seconds: 2,
  accepted: 2500,
  accepted_per_second: 1250,
  rejected: 3,
  rejected_per_second: 1.5,
  acknowledgement: { p50_seconds: 0.0042, p99_seconds: 1.25 },
  query: { p50_seconds: null, p99_seconds: null },
  log: { bytes: 5 * 1024 * 1024, segments: 2, lag_seconds: 42 },
  reads: { running: 3, waiting: 0 },
  engine: { memory_bytes: null, parts: 17 },
  slow_queries: [{ id: 'x', seconds: 4.25, memory_bytes: 2048, query: 'SELECT \u001b[2J 1' }],
  organizations: null,
};

describe('a frame', () => {
  test('has every figure, and says what is not told', () => {
    const space = { columns: 200, rows: 100, isColoured: false };
    const text = frameOf(figures, 'http://x', space).join('\n');
    for (const words of [
      'http://x 03:04:05 UTC',
      '1250/s accepted, 1.5/s rejected',
      'p50 4.2 ms, p99 1.3 s',
      'p50 -, p99 -',
      '5.0 MiB, 2 segments wait, oldest event 42.0 s',
      '3 at work, 0 waiting',
      '- of memory, 17 parts',
      'the engine does not tell',
      '4.3      2.0 KiB  SELECT  [2J 1',
    ])
      assert.ok(text.includes(words), `${words}\n${text}`);
    assert.doesNotMatch(text, /\p{Cc}(?<!\n)/u);
  });

  test('fits its terminal, in colours or without', () => {
    const space = { columns: 30, rows: 8, isColoured: true };
    const lines = frameOf(figures, 'http://x', space, 'it does not answer');
    assert.equal(lines.length, 8);
    for (const line of lines) {
      const shown = line.replaceAll(/\p{Cc}\[\d+m/gu, '');
      assert.ok(shown.length <= 30, shown);
      assert.equal(
        line.split('\u001b[0m').length * 2 - 1,
        line.split('\u001b[').length,
        'a colour is not ended',
      );
    }
    assert.ok(lines.some((line) => line.includes('\u001b[31m')));
  });
});

test('quantiles are those of the interval, in proportion between two bounds', () => {
  const text = (counts: readonly number[]) =>
    ['0.1', '0.2', '+Inf']
      .map((le, n) => `seconds_bucket{le="${le}",route="ingest",process="1"} ${counts[n]}`)
      .join('\n');
  const at = (counts: readonly number[]) => new Metrics(text(counts)).buckets('seconds', ['ingest']);
  assert.equal(quantile(at([5, 5, 5]), at([5, 15, 15]), 0.5)?.toFixed(3), '0.150');
  assert.equal(quantile(at([0, 0, 0]), at([4, 8, 8]), 0.25)?.toFixed(3), '0.050');
  assert.equal(quantile(at([0, 0, 0]), at([0, 0, 3]), 0.99), 0.2);
  assert.equal(quantile(at([7, 8, 9]), at([7, 8, 9]), 0.5), undefined);
});

/** What a terminal shows after this: it knows home, the ends of lines, and how a line and all below it are cleared. */
function shownBy(text: string): string[] {
  const lines: string[] = [];
  let [row, column] = [0, 0];
  for (const [, sequence, words = ''] of text.matchAll(/(\r\n|\p{Cc}\[\??\d*\p{L})|([^\p{Cc}]+)/gu)) {
    const line = lines[row] ?? '';
    if (sequence === '\u001b[H') [row, column] = [0, 0];
    else if (sequence === '\r\n') [row, column] = [row + 1, 0];
    else if (sequence === '\u001b[K') lines[row] = line.slice(0, column);
    else if (sequence === '\u001b[J') lines.splice(row, lines.length, line.slice(0, column));
    else if (sequence === undefined) {
      lines[row] = line.slice(0, column).padEnd(column) + words + line.slice(column + words.length);
      column += words.length;
    }
  }
  return lines;
}

test('a frame takes the place of the one before, also where that was longer', async () => {
  const { drawn, io } = terminal(80, 24);
  await Screen.with(
    io,
    true,
    () => undefined,
    async (screen) => {
      screen.draw(['a long line', 'second', 'third']);
      assert.deepEqual(shownBy(drawn.text), ['a long line', 'second', 'third']);
      screen.draw(['short', 'and a longer one']);
      assert.deepEqual(shownBy(drawn.text), ['short', 'and a longer one']);
    },
  );
});

test('a terminal is what it was before, also after an error', async () => {
  const { drawn, input, io } = terminal(80, 24);
  const failing = Screen.with(
    io,
    true,
    () => undefined,
    async (screen) => {
      screen.draw(['one']);
      assert.deepEqual([drawn.isRaw, input.listenerCount('data')], [true, 1]);
      throw new Error('of the work');
    },
  );
  await assert.rejects(failing, /of the work/);
  assert.deepEqual([drawn.isRaw, input.listenerCount('data'), input.isPaused()], [false, 0, true]);
  assert.ok(drawn.text.startsWith(enter) && drawn.text.endsWith(leave));
});

describe('top beside a server', () => {
  let server: TestServer;
  let tenant: Tenant;
  const children: ChildProcess[] = [];
  before(async () => {
    server = await startServer();
    tenant = await createTenant(server, 'busy');
  });
  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    await server?.stop();
  });

  const send = async (events: number, rejected: number): Promise<void> => {
    const body = JSON.stringify([
      ...Array.from({ length: events }, () => sourceEvent({})),
      ...Array.from({ length: rejected }, () => ({})),
    ]);
    const headers = { 'x-api-key': tenant.key, 'content-type': 'application/json' };
    const answer = await call(`${server.url}/api/v1/audit`, { method: 'POST', headers, body });
    assert.equal(answer.status, 202, answer.text);
  };

  for (const [name, key] of [
    ['q', 'q'],
    ['Ctrl-C', '\u0003'],
  ] as const)
    test(`draws frames until ${name} is pressed`, async () => {
      const { drawn, input, io } = terminal(60, 20);
      const unexpected = () => Promise.reject(new Error('not for this command'));
      const deps: CliDeps = {
        environment: { DATA_DIR: server.dataDir, NO_COLOR: '1' },
        io,
        recordEvents: unexpected,
        eventEnvelope: () => ({ head: '', tail: '' }),
        startService: unexpected,
        startProcesses: unexpected,
        untilStopped: () => new Promise(() => undefined),
      };
      const running = runCli(['top'], deps);
      await eventually('a frame', async () => drawn.text.includes('busiest organizations') || undefined);
      input.write(key);
      assert.equal(await running, 0);
      assert.ok(drawn.text.endsWith(leave));
      assert.equal(drawn.isRaw, false);
      const shown = shownBy(drawn.text);
      assert.ok(shown[0]?.includes(server.url));
      assert.ok(shown.length <= 20 && shown.every(({ length }) => length <= 60), shown.join('\n'));
      assert.doesNotMatch(drawn.text, /\p{Cc}\[3?1m/u, 'coloured');
    });

  test('tells what was accepted, rejected, asked and is at work, to the last event; and when nobody answers', async () => {
    const child = spawn(process.execPath, [...cliCommand, 'top', '--json'], {
      env: { PATH: process.env['PATH'], DATA_DIR: server.dataDir },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    let [printed, said] = ['', ''];
    child.stdout.on('data', (piece) => (printed += String(piece)));
    child.stderr.on('data', (piece) => (said += String(piece)));
    const seen = () =>
      printed
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Figures);
    await eventually('the first interval', async () => seen()[0]);
    const known = seen().length;
    const sum = (name: 'accepted' | 'rejected') =>
      seen()
        .slice(known)
        .reduce((all, one) => all + one[name], 0);
    for (let n = 0; n < 5; n++) await send(60, 2);
    await tenant.page({ limit: '5' });
    const slow = withEngine(server, (storage) =>
      storage.rows('SELECT count() FROM numbers(5) WHERE sleepEachRow(1) = 0 SETTINGS max_block_size = 1'),
    );
    const shown = await eventually('all of it', async () => {
      const [accepted, rejected] = [sum('accepted'), sum('rejected')];
      assert.ok(accepted <= 300 && rejected <= 10, `${accepted} ${rejected}`);
      const all = seen().slice(known);
      const organization = all
        .flatMap((one) => one.organizations ?? [])
        .find((one) => one.slug === 'busy' && Math.round(one.events_per_second * 30) >= 300);
      const query = all
        .flatMap((one) => one.slow_queries ?? [])
        .find((one) => one.query.includes('numbers(5)'));
      return accepted === 300 && rejected === 10 && organization && query
        ? { all, organization, query }
        : undefined;
    });
    await slow;
    // Making the organization and its key is told in it, too.
    assert.ok(shown.organization.events_per_second * 30 <= 310, String(shown.organization.events_per_second));
    assert.ok(shown.query.seconds > 1);
    const written = shown.all.find(({ accepted }) => accepted > 0);
    assert.ok((written?.acknowledgement.p50_seconds ?? 0) > 0);
    assert.ok(shown.all.some(({ query }) => (query.p99_seconds ?? 0) > 0));
    const last = shown.all.at(-1);
    assert.ok((last?.engine.memory_bytes ?? 0) > 10_000_000 && (last?.engine.parts ?? 0) > 0);
    assert.deepEqual([typeof last?.log.bytes, last?.reads.waiting], ['number', 0]);

    await server.kill('SIGKILL');
    await eventually(
      'it to be told',
      async () => said.includes(`the server at ${server.url} does not answer`) || undefined,
    );
    child.kill('SIGINT');
    const [code] = (await once(child, 'close')) as [number];
    assert.equal(code, 0);
    const alone = await server.cliHere(['top', '--once']);
    assert.equal(alone.code, 1);
    assert.match(alone.stderr, /no server runs on DATA_DIR/);
  });
});
