import { strict as assert } from 'node:assert';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { followFeed } from '../support/feed.ts';
import { eventually } from '../support/http.ts';
import { startPlainEngine } from '../support/plain-engine.ts';
import { createTenant, keyKnown, sourceEvent, startServer } from '../support/server.ts';

const hourMs = 3_600_000;

/** Environment of a process with a wrong clock. */
function wrongBy(ms: number): Record<string, string> {
  const module = new URL('../support/shifted-clock.mjs', import.meta.url).href;
  return { NODE_OPTIONS: `--import ${module}`, CLOCK_SHIFT_MS: String(ms) };
}

// The simulator changes clocks while it follows the feed.
test('servers on one engine whose clocks are an hour apart hold each other back by nothing', async () => {
  const engine = await startPlainEngine();
  const behind = await startServer({ env: { ...engine.env, ...wrongBy(-hourMs) } });
  const right = await startServer({ env: engine.env });
  try {
    const tenant = await createTenant(right, 'clocks');
    await keyKnown(behind, tenant.key);
    const ways = [tenant, tenant.with({ server: behind })];
    const cursors = ['', ''];
    const seen: string[][] = [[], []];
    for (let round = 0; round < 4; round++) {
      const flow: string = randomUUID();
      await ways[round % 2]?.record([sourceEvent({ flow_id: flow })]);
      await eventually('both followers to have it', async () => {
        for (const [index, way] of ways.entries()) {
          const [events, next] = await followFeed(way, cursors[index] ?? '');
          cursors[index] = next;
          seen[index]?.push(...events.flatMap(({ flow_id: one }) => one ?? []));
        }
        return seen.every((flows) => flows.includes(flow)) || undefined;
      });
    }
    assert.equal(new Set(seen[0]).size, 4);
    assert.deepEqual(seen[0], seen[1]);
  } finally {
    await Promise.all([behind.stop(), right.stop()]);
    await engine.stop();
  }
});
