import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { RateLimiter } from '../../src/http/rate-limit.ts';

const rate = { requests: 3, windowMs: 1000 };

describe('rate limiter', () => {
  it('lets the limit pass in a window, not one more, and begins anew at its very end', () => {
    let now = 5000;
    const limiter = new RateLimiter(() => now);
    const take = () => limiter.consume('a', rate);
    assert.deepEqual(take(), { allowed: true, limit: 3, remaining: 2, resetSeconds: 1 });
    now = 5001;
    assert.equal(take().remaining, 1);
    assert.deepEqual(take(), { allowed: true, limit: 3, remaining: 0, resetSeconds: 1 });
    now = 5999.999;
    assert.deepEqual(take(), { allowed: false, limit: 3, remaining: 0, resetSeconds: 1 });
    now = 6000;
    assert.deepEqual(take(), { allowed: true, limit: 3, remaining: 2, resetSeconds: 1 });
  });

  it('returns the seconds left, rounded up', () => {
    let now = 0;
    const limiter = new RateLimiter(() => now);
    const slow = { requests: 1, windowMs: 15_000 };
    assert.equal(limiter.consume('a', slow).resetSeconds, 15);
    now = 1;
    assert.equal(limiter.consume('a', slow).resetSeconds, 15);
    now = 14_001;
    assert.equal(limiter.consume('a', slow).resetSeconds, 1);
  });

  it('never lets more than the limit pass within any window that began with a request', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2), fc.nat(400)), { maxLength: 120 }), (steps) => {
        let now = 0;
        const limiter = new RateLimiter(() => now);
        const model = new Map<number, { ends: number; count: number }>();
        for (const [client, wait] of steps) {
          now += wait;
          let window = model.get(client);
          if (window === undefined || now >= window.ends) {
            window = { ends: now + rate.windowMs, count: 0 };
            model.set(client, window);
          }
          window.count += 1;
          const verdict = limiter.consume(String(client), rate);
          assert.equal(verdict.allowed, window.count <= rate.requests);
          assert.equal(verdict.remaining, Math.max(0, rate.requests - window.count));
        }
      }),
    );
  });

  it('is bounded under a million addresses', () => {
    let now = 0;
    const limiter = new RateLimiter(() => now, 50_000);
    for (let i = 0; i < 1_000_000; i++) {
      now += 0.01;
      limiter.consume(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, rate);
    }
    assert.equal(limiter.clients(), 50_000);
  });
});
