import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import { limits } from '../../src/ingest/limits.ts';
import { createPace } from '../../src/ingest/pace.ts';

/** A pace on a clock that is set by hand; at first the engine is behind. */
function setUp() {
  const state = { now: 10_000, waitingMs: 1001, waitingBytes: 1_000_001 };
  const pace = createPace({
    backlog: () => ({ waitingMs: state.waitingMs, bytes: state.waitingBytes }),
    behindMs: 1000,
    behindBytes: 1_000_000,
    nowMs: () => state.now,
  });
  return { state, pace };
}

describe('the pace of ingest', () => {
  it('holds nobody while the engine keeps up, nor for what is little', () => {
    for (const enough of [{ waitingMs: 1000 }, { waitingBytes: 1_000_000 }]) {
      const { state, pace } = setUp();
      Object.assign(state, enough);
      pace.stored(1000, 500);
      pace.large.took(1_000_000);
      assert.equal(pace.large.turnMs(), 0);
    }
  });

  it('holds small bodies for what they wait for themselves, large ones for all that waits', () => {
    const backlog = { small: { waitingMs: 0, bytes: 0 }, all: { waitingMs: 1001, bytes: 1_000_001 } };
    const nowMs = () => 10_000;
    const pace = createPace({ backlog: (of) => backlog[of], behindMs: 1000, behindBytes: 1_000_000, nowMs });
    pace.stored(1000, 500);
    pace.small.took(10_000);
    assert.equal(pace.small.turnMs(), 0);
    assert.ok(pace.large.turnMs() > 0);
    backlog.small = backlog.all;
    pace.small.took(10_000);
    assert.ok(pace.small.turnMs() > 0);
  });

  for (const rowsOfTask of [100, 5000, 40_000]) {
    it(`lets in nine tenths of what an engine takes that is behind, in tasks of ${rowsOfTask} rows`, () => {
      const { state, pace } = setUp();
      const rowsPerSecond = 20_000;
      const seconds = 60;
      const begun = state.now;
      let rows = 0;
      for (let next = begun; state.now < begun + seconds * 1000; state.now += 1) {
        if ((state.now - begun) % 500 === 0) pace.stored(rowsPerSecond / 2, 500);
        if (state.now < next) continue;
        next = state.now + pace.large.turnMs();
        if (next > state.now) continue;
        pace.large.took(rowsOfTask);
        rows += rowsOfTask;
      }
      const part = rows / (rowsPerSecond * seconds);
      assert.ok(part > 0.8 && part < 1, `${part} of what the engine takes`);
    });
  }

  it('lets small bodies go first: large ones do not count against them, small ones count against both', () => {
    const { pace } = setUp();
    pace.stored(1000, 100);
    pace.large.took(9000);
    assert.equal(pace.small.turnMs(), 0);
    pace.small.took(900);
    assert.ok(pace.small.turnMs() > 95 && pace.small.turnMs() < 105, `${pace.small.turnMs()}`);
    assert.ok(pace.large.turnMs() > 1095, `${pace.large.turnMs()}`);
  });

  it('knows the rate of an engine from its first INSERT', () => {
    const { pace } = setUp();
    pace.stored(1000, 100);
    pace.large.took(900);
    const ms = pace.large.turnMs();
    assert.ok(ms > 95 && ms < 105, `${ms}`);
  });

  it('does not hold a huge batch against later ones for as long as the engine takes for it', () => {
    const { pace } = setUp();
    pace.stored(1, 1000);
    pace.large.took(1_000_000);
    assert.equal(pace.large.turnMs(), limits.paceDebtMsMax);
  });

  it('forgets what was let in once the engine has caught up', () => {
    const { state, pace } = setUp();
    pace.stored(1000, 500);
    pace.large.took(1_000_000);
    state.waitingMs = 0;
    assert.equal(pace.large.turnMs(), 0);
    state.waitingMs = 1001;
    assert.equal(pace.large.turnMs(), 0);
  });

  it('holds nobody for an engine that takes nothing, and again when it takes something', () => {
    const { state, pace } = setUp();
    pace.large.took(1000);
    assert.equal(pace.large.turnMs(), 0, 'nothing was ever taken');
    pace.stored(1000, 500);
    pace.large.took(1000);
    assert.ok(pace.large.turnMs() > 0);
    state.now += limits.paceRateMs;
    pace.large.took(1000);
    assert.equal(pace.large.turnMs(), 0, 'nothing was taken for a while');
  });
});
