import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import { limits } from '../../src/ingest/limits.ts';
import { Throttle } from '../../src/ingest/throttle.ts';

/** A throttle with a manual clock; at first the engine is behind. */
function setUp() {
  const state = { now: 10_000, waitingMs: 1001, waitingBytes: 1_000_001 };
  const throttle = new Throttle({
    backlog: () => ({ waitingMs: state.waitingMs, bytes: state.waitingBytes }),
    behindMs: 1000,
    behindBytes: 1_000_000,
    nowMs: () => state.now,
  });
  return { state, throttle };
}

describe('the throttle of ingest', () => {
  it('delays nothing while the engine keeps up, and no small amounts', () => {
    for (const enough of [{ waitingMs: 1000 }, { waitingBytes: 1_000_000 }]) {
      const { state, throttle } = setUp();
      Object.assign(state, enough);
      throttle.stored(1000, 500);
      throttle.large.admitted(1_000_000);
      assert.equal(throttle.large.delayMs(), 0);
    }
  });

  it('delays small bodies for their own backlog, large ones for all', () => {
    const backlog = { small: { waitingMs: 0, bytes: 0 }, all: { waitingMs: 1001, bytes: 1_000_001 } };
    const nowMs = () => 10_000;
    const throttle = new Throttle({
      backlog: (of) => backlog[of],
      behindMs: 1000,
      behindBytes: 1_000_000,
      nowMs,
    });
    throttle.stored(1000, 500);
    throttle.small.admitted(10_000);
    assert.equal(throttle.small.delayMs(), 0);
    assert.ok(throttle.large.delayMs() > 0);
    backlog.small = backlog.all;
    throttle.small.admitted(10_000);
    assert.ok(throttle.small.delayMs() > 0);
  });

  for (const rowsOfTask of [100, 5000, 40_000]) {
    it(`lets in nine tenths of what an engine takes that is behind, in tasks of ${rowsOfTask} rows`, () => {
      const { state, throttle } = setUp();
      const rowsPerSecond = 20_000;
      const seconds = 60;
      const begun = state.now;
      let rows = 0;
      for (let next = begun; state.now < begun + seconds * 1000; state.now += 1) {
        if ((state.now - begun) % 500 === 0) throttle.stored(rowsPerSecond / 2, 500);
        if (state.now < next) continue;
        next = state.now + throttle.large.delayMs();
        if (next > state.now) continue;
        throttle.large.admitted(rowsOfTask);
        rows += rowsOfTask;
      }
      const part = rows / (rowsPerSecond * seconds);
      assert.ok(part > 0.8 && part < 1, `${part} of what the engine takes`);
    });
  }

  it('lets small bodies go first: large ones do not count against them, small ones count against both', () => {
    const { throttle } = setUp();
    throttle.stored(1000, 100);
    throttle.large.admitted(9000);
    assert.equal(throttle.small.delayMs(), 0);
    throttle.small.admitted(900);
    assert.ok(throttle.small.delayMs() > 95 && throttle.small.delayMs() < 105, `${throttle.small.delayMs()}`);
    assert.ok(throttle.large.delayMs() > 1095, `${throttle.large.delayMs()}`);
  });

  it('knows the rate of an engine from its first INSERT', () => {
    const { throttle } = setUp();
    throttle.stored(1000, 100);
    throttle.large.admitted(900);
    const ms = throttle.large.delayMs();
    assert.ok(ms > 95 && ms < 105, `${ms}`);
  });

  it('does not hold a huge batch against later ones for as long as the engine takes for it', () => {
    const { throttle } = setUp();
    throttle.stored(1, 1000);
    throttle.large.admitted(1_000_000);
    assert.equal(throttle.large.delayMs(), limits.throttleDebtMsMax);
  });

  it('forgets admitted rows once the engine has caught up', () => {
    const { state, throttle } = setUp();
    throttle.stored(1000, 500);
    throttle.large.admitted(1_000_000);
    state.waitingMs = 0;
    assert.equal(throttle.large.delayMs(), 0);
    state.waitingMs = 1001;
    assert.equal(throttle.large.delayMs(), 0);
  });

  it('delays nothing while the engine stores nothing, and again once it does', () => {
    const { state, throttle } = setUp();
    throttle.large.admitted(1000);
    assert.equal(throttle.large.delayMs(), 0, 'nothing was ever taken');
    throttle.stored(1000, 500);
    throttle.large.admitted(1000);
    assert.ok(throttle.large.delayMs() > 0);
    state.now += limits.throttleRateMs;
    throttle.large.admitted(1000);
    assert.equal(throttle.large.delayMs(), 0, 'nothing was taken for a while');
  });
});
