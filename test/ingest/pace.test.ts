import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { createPace } from '../../src/ingest/pace.ts';

/** A pace on a clock that is set by hand; the oldest rows have waited for `waitingMs`. */
function setUp() {
  const state = { now: 10_000, waitingMs: 0 };
  const pace = createPace({ waitingMs: () => state.waitingMs, behindMs: 1000, nowMs: () => state.now });
  return { state, pace };
}

/** Rows that are let in within a second, in tasks of 100 that cost no time themselves. */
function rowsInASecond({ state, pace }: ReturnType<typeof setUp>): number {
  const end = state.now + 1000;
  let rows = 0;
  while (rows < 1_000_000) {
    state.now += pace.turnMs();
    if (state.now >= end) break;
    pace.took(100);
    rows += 100;
  }
  return rows;
}

describe('the pace of ingest', () => {
  it('holds nobody while the engine keeps up', () => {
    const { state, pace } = setUp();
    pace.stored(1000);
    pace.took(1_000_000);
    state.waitingMs = 1000;
    assert.equal(pace.turnMs(), 0);
  });

  it('lets in nine tenths of what an engine takes that is behind', () => {
    const one = setUp();
    const rowsPerSecond = 20_000;
    for (let n = 0; n < 8; n++) {
      one.state.now += limits.paceRateMs / 8;
      one.pace.stored((rowsPerSecond / 8) * (limits.paceRateMs / 1000));
    }
    one.state.now -= 1;
    one.state.waitingMs = 1001;
    const rows = rowsInASecond(one);
    // What was taken first falls out of the window meanwhile.
    assert.ok(rows > rowsPerSecond * 0.5 && rows <= rowsPerSecond * 0.91, `${rows}`);
  });

  it('holds no task for longer than the limit, whatever came before', () => {
    const { state, pace } = setUp();
    state.waitingMs = 5000;
    pace.stored(1);
    pace.took(1_000_000);
    assert.equal(pace.turnMs(), limits.paceHoldMsMax);
  });

  it('holds nobody once the engine has caught up, and does not hold it against those who came meanwhile', () => {
    const { state, pace } = setUp();
    state.waitingMs = 1001;
    pace.stored(1000);
    pace.took(1_000_000);
    state.waitingMs = 0;
    assert.equal(pace.turnMs(), 0);
    state.waitingMs = 1001;
    assert.equal(pace.turnMs(), 0);
  });

  it('holds nobody for an engine that fails or takes nothing, and again when it takes something', () => {
    const { state, pace } = setUp();
    state.waitingMs = 60_000;
    pace.took(1000);
    assert.equal(pace.turnMs(), 0, 'nothing was ever taken');
    pace.stored(1000);
    pace.took(1000);
    assert.ok(pace.turnMs() > 0);
    pace.failed();
    assert.equal(pace.turnMs(), 0, 'it failed');
    pace.stored(1000);
    pace.took(1000);
    assert.ok(pace.turnMs() > 0);
    state.now += limits.paceRateMs;
    pace.took(1000);
    assert.equal(pace.turnMs(), 0, 'nothing was taken for a while');
  });
});
