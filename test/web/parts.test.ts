import { strict as assert } from 'node:assert';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { rangeOf } from '../../web/events/addresses.ts';
import { type Filter, filterNames, parametersOf, readFilters, withValue } from '../../web/events/filters.ts';
import { heightOf, marksOf, topOf } from '../../web/events/scale.ts';
import { ticksOf } from '../../web/events/ticks.ts';
import { changeKey, forgetChange } from '../../web/api/change-key.ts';
import { fromRfc3339, toRfc3339 } from '../../web/api/instant.ts';
import { limits } from '../../web/overview/limits.ts';
import { findNew } from '../../web/overview/new-actors.ts';
import { layOut, membersOf } from '../../web/ui/json-text.ts';
import { type Bar, RowScroll } from '../../web/ui/row-scroll.ts';

describe('JSON as text', () => {
  const spaced = (value: unknown) => fc.constantFrom(JSON.stringify(value), JSON.stringify(value, null, 3));

  it('is cut into the texts of its members', () => {
    const container = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue()));
    fc.assert(
      fc.property(
        container.chain((value) => fc.tuple(fc.constant(value), spaced(value))),
        ([value, text]) => {
          const members = Object.fromEntries(
            Array.from(membersOf(text), ([name, member]) => [name, JSON.parse(member) as unknown]),
          );
          assert.deepEqual(members, JSON.parse(JSON.stringify(Object.fromEntries(Object.entries(value)))));
        },
      ),
    );
  });

  it('is laid out as JSON.stringify does, and keeps every digit', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        assert.equal(layOut(JSON.stringify(value)), JSON.stringify(value, null, 2));
      }),
    );
    const digits = '{\n  "n": 12345678901234567890.10,\n  "none": {},\n  "nor": []\n}';
    assert.equal(layOut(digits.replaceAll('{}', '{ }')), digits);
  });
});

describe('filters of events', () => {
  it('survive in the address, whatever their values, and take no more than the server does', () => {
    const way = fc.constantFrom('only' as const, 'also' as const, 'not' as const);
    const step = fc.tuple(fc.constantFrom(...filterNames.slice(0, -1)), fc.string(), way);
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let filters: readonly Filter[] = [];
        for (const [name, value, how] of steps) filters = withValue(filters, name, value, how) ?? filters;
        const read = readFilters(new URLSearchParams(new URLSearchParams(parametersOf(filters)).toString()));
        assert.deepEqual(read, filters);
        assert.ok(filters.every(({ values }) => values.length <= 20));
      }),
    );
  });

  it('have phrases between quotation marks, and texts that are not to be there', () => {
    const typed = withValue([], 'q', 'one "two  words, 5%" -3', 'also') ?? [];
    const filters = withValue(typed, 'q', '"not this" that', 'not') ?? [];
    const parameters = parametersOf(filters);
    assert.deepEqual(parameters, { q: 'one -3', 'q.phrase': 'two  words%2C 5%25', 'q.not': 'not this,that' });
    assert.deepEqual(parametersOf(readFilters(new URLSearchParams(parameters))), parameters);
    assert.deepEqual(parametersOf(withValue([], 'ip', '', 'only') ?? []), { 'ip.is': 'none' });
    assert.deepEqual(parametersOf(withValue([], 'ip', '', 'not') ?? []), { 'ip.is': 'any' });
  });

  it('have a value on one side only, and words one by one', () => {
    const one = withValue([], 'actor', 'a', 'only') ?? [];
    assert.deepEqual(parametersOf(withValue(one, 'actor', 'b,%', 'also') ?? []), { 'actor.in': 'a,b%2C%25' });
    assert.deepEqual(parametersOf(withValue(one, 'actor', 'a', 'not') ?? []), { 'actor.not': 'a' });
    assert.deepEqual(parametersOf(withValue([], 'q', ' Two  words two', 'also') ?? []), {
      q: 'Two words two',
    });
  });

  it('keep words of an address as they are written, also more of them than the server takes', () => {
    const words = Array.from({ length: 11 }, (_, at) => `İstanbul${at}`);
    assert.deepEqual(readFilters(new URLSearchParams({ q: words.join(' ') })), [
      { name: 'q', isNot: false, values: words },
    ]);
  });
});

describe('instants', () => {
  it('survive as text to the microsecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 7_258_118_400_000_000 }), (micros) => {
        assert.equal(fromRfc3339(toRfc3339(micros)), micros);
      }),
    );
    assert.equal(fromRfc3339('2026-05-12T09:30:00+02:00'), Date.UTC(2026, 4, 12, 7, 30) * 1000);
    for (const text of ['', 'now', '2026-05-12', '2026-05-12T09:30:00', '2026-13-12T09:30:00Z'])
      assert.equal(fromRfc3339(text), undefined, text);
  });
});

describe('the scale beside a chart', () => {
  it('names round counts that have room, up to the highest', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000_000 }), fc.boolean(), (highest, isLog) => {
        const marks = marksOf(highest, isLog);
        assert.ok(marks.length <= 3 && (marks.length > 0 || (isLog && highest < 10)), marks.join());
        const heights = [0, ...marks.map((mark) => heightOf(mark, highest, isLog))];
        assert.ok(heights.every((height, at) => at === 0 || height > (heights[at - 1] ?? 0) + 0.25));
        assert.ok((heights.at(-1) ?? 0) <= 1 && marks.every(Number.isInteger));
      }),
    );
    assert.deepEqual(marksOf(48_213, false), [20_000, 40_000]);
    // One outlier is cut off, so that the others are told apart; two of them, or the scale of logarithms, show all.
    assert.deepEqual(
      [[4, 900, 8], [4, 900, 901], [0, 900, 0], [8, 40, 1], []].map((counts) => topOf(counts, false)),
      [10, 901, 900, 40, 1],
    );
    assert.deepEqual([topOf([4, 900, 8], true), heightOf(900, 10, false)], [900, 1]);
    assert.deepEqual(marksOf(48_213, true), [100, 10_000]);
  });
});

describe('round times below a chart', () => {
  const dayMs = 86_400_000;
  const startOfDay = (ms: number, days: number) => (Math.floor(ms / dayMs) + days) * dayMs * 1000;

  it('are within the range, evenly apart, neither too many nor too few', () => {
    const from = fc.integer({ min: 1_577_836_800_000_000, max: 1_893_456_000_000_000 });
    const seconds = fc.oneof(
      fc.integer({ min: 8, max: 200_000 }),
      fc.integer({ min: 200_000, max: 60_000_000 }),
    );
    fc.assert(
      fc.property(from, seconds, fc.integer({ min: 4, max: 10 }), (begins, length, most) => {
        const ends = begins + length * 1_000_000;
        const ticks = ticksOf([begins, ends], most, startOfDay);
        const times = ticks.map(({ micros }) => micros);
        assert.ok(times.length >= 1 && times.length <= most, `${times.length} ticks`);
        assert.ok(times.every((micros) => micros >= begins && micros < ends && micros % 1_000_000 === 0));
        const gaps = new Set(times.slice(1).map((micros, index) => micros - (times[index] ?? 0)));
        assert.ok(gaps.size <= 1, [...gaps].join());
        for (const { micros, isDay } of ticks) assert.equal(isDay, micros % (dayMs * 1000) === 0);
      }),
    );
  });

  it('are days of a week, and hours of a day', () => {
    const monday = Date.UTC(2024, 4, 6, 9, 30) * 1000;
    const week = ticksOf([monday, monday + 7 * dayMs * 1000], 8, startOfDay);
    assert.deepEqual(
      week.map(({ micros }) => new Date(micros / 1000).getUTCDate()),
      [7, 8, 9, 10, 11, 12, 13],
    );
    const hours = ticksOf([monday, monday + dayMs * 1000], 8, startOfDay);
    assert.deepEqual(
      hours.map(({ micros }) => new Date(micros / 1000).getUTCHours()),
      [12, 15, 18, 21, 0, 3, 6, 9],
    );
  });
});

describe('scrolling a list of any length', () => {
  /** A bar as a browser has it: whole pixels, within its ends. */
  class TestBar implements Bar {
    readonly clientHeight = 600;
    readonly #scroll: RowScroll;
    #top = 0;
    constructor(scroll: RowScroll) {
      this.#scroll = scroll;
    }
    get scrollHeight() {
      return Math.max(this.clientHeight, this.#scroll.length.value + 28);
    }
    get scrollTop() {
      return this.#top;
    }
    set scrollTop(to: number) {
      this.#top = Math.round(Math.max(0, Math.min(to, this.scrollHeight - this.clientHeight)));
    }
  }
  const listOf = (count: number) => {
    const scroll = new RowScroll();
    scroll.count.value = count;
    scroll.rowHeight.value = 28;
    scroll.height.value = 572;
    const bar = new TestBar(scroll);
    scroll.attach(bar);
    return { scroll, bar };
  };

  it('reaches first and last row by the bar, by steps and by jumps, whatever came before', () => {
    const step = fc.oneof(
      fc.record({ by: fc.integer({ min: -1200, max: 1200 }) }),
      fc.record({ share: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.record({ row: fc.double({ min: 0, max: 1, noNaN: true }) }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000_000 }),
        fc.array(step, { maxLength: 20 }),
        (count, steps) => {
          const { scroll, bar } = listOf(count);
          for (const one of steps) {
            if ('by' in one) bar.scrollTop += one.by;
            else if ('share' in one) bar.scrollTop = one.share * bar.scrollHeight;
            else scroll.scrollTo(Math.floor(one.row * count));
            scroll.onScroll();
            assert.ok(scroll.top.value >= 0 && scroll.top.value <= scroll.topMax.value);
          }
          scroll.reveal(count - 1);
          assert.ok(scroll.top.value + 572 / 28 >= count - 1e-6, 'the last row is in sight');
          scroll.reveal(0);
          assert.equal(scroll.top.value, 0);
          scroll.attach(undefined);
        },
      ),
    );
  });

  it('moves ten million rows by pixels near by, and by share where the bar is dragged', () => {
    const { scroll, bar } = listOf(10_000_000);
    scroll.scrollTo(5_000_000);
    bar.scrollTop += 280;
    scroll.onScroll();
    assert.ok(Math.abs(scroll.top.value - 5_000_010) < 1e-6);
    bar.scrollTop = bar.scrollHeight;
    scroll.onScroll();
    assert.equal(scroll.top.value, scroll.topMax.value);
    // At the bar's very end there is still a way back, row by row.
    for (let n = 0; n < 100; n += 1) {
      bar.scrollTop -= 28;
      scroll.onScroll();
    }
    assert.ok(Math.abs(scroll.topMax.value - 100 - scroll.top.value) < 1);
    scroll.attach(undefined);
  });
});

it('the beginning of an address stands for a range', () => {
  const ranges = {
    10: undefined,
    '10.': '10.0.0.0/8',
    '10.0.0': '10.0.0.0/24',
    '10.0.0.7': '10.0.0.0/24',
    '300.1': undefined,
    '10.0.0.0/8': undefined,
    '2001:db8:': '2001:db8::/32',
    'fe80::1': 'fe80::/16',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '::1': undefined,
  };
  for (const [text, range] of Object.entries(ranges)) assert.equal(rangeOf(text), range, text);
});

describe('new actors', () => {
  const actors = (count: number, name = 'known') =>
    Array.from({ length: count }, (_, n) => ({ email_addr: `${name}${n}@x`, count: 1 }));
  const never = () => Promise.reject(new Error('asked without need'));

  it('are those of today who were not there before', async () => {
    const found = await findNew([...actors(3), ...actors(2, 'new')], actors(50), never);
    assert.deepEqual(found, { actors: actors(2, 'new'), checked: undefined });
  });

  it('are looked up where the list of those before is full, and no more than a few', async () => {
    const full = actors(limits.topValues);
    const asked: string[] = [];
    const wasThere = ({ email_addr: email }: { email_addr: string }) => {
      asked.push(email);
      return Promise.resolve(email === 'new0@x');
    };
    const few = await findNew(actors(3, 'new'), full, wasThere);
    assert.deepEqual(few, { actors: actors(3, 'new').slice(1), checked: undefined });
    const many = await findNew(actors(20, 'new'), full, wasThere);
    assert.equal(many.checked, limits.newActorChecks);
    assert.equal(asked.length, 3 + limits.newActorChecks);
  });
});

describe('the key of a change', () => {
  it('stays for a retry that has no answer yet, and is another one for anything else', () => {
    const first = changeKey('POST /x {}');
    assert.match(first, /^[0-9a-f]{32}$/);
    assert.equal(changeKey('POST /x {}'), first);
    const other = changeKey('POST /x {"a":1}');
    assert.notEqual(other, first);
    forgetChange();
    assert.notEqual(changeKey('POST /x {"a":1}'), other);
  });
});
