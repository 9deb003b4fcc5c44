import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { call } from '../support/http.ts';
import { startPlainEngine } from '../support/plain-engine.ts';
import { startServer } from '../support/server.ts';

const hourMs = 3_600_000;

/** The environment of a process whose clock is wrong. */
function wrongBy(ms: number): Record<string, string> {
  const module = new URL('../support/shifted-clock.mjs', import.meta.url).href;
  return { NODE_OPTIONS: `--import ${module}`, CLOCK_SHIFT_MS: String(ms) };
}

// The simulator sets clocks back, forward and right while it runs, and follows the feed all the while.
test('a clock behind the others on an engine is told at the start and in a metric', async () => {
  const engine = await startPlainEngine();
  try {
    const server = await startServer({ env: { ...engine.env, ...wrongBy(-hourMs) } });
    try {
      const told = server.stderrLines().filter((line) => line.includes('the clock is behind'));
      assert.equal(told.length, 1);
      const { behindSeconds } = JSON.parse(told[0] as string) as { behindSeconds: number };
      assert.ok(Math.abs(behindSeconds - 3600) < 60, `${behindSeconds} s`);
      const { text } = await call(`${server.url}/metrics`);
      const [, seconds] = /^auditlog_clock_behind_seconds ([\d.]+)$/m.exec(text) ?? [];
      assert.ok(Math.abs(Number(seconds) - 3600) < 60, `${seconds} s`);
    } finally {
      await server.stop();
    }
  } finally {
    await engine.stop();
  }
});
