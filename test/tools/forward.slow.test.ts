import { strict as assert } from 'node:assert';
import { appendFile, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { patience } from '../support/patience.ts';
import { type Remote, remoteKey, reply, startRemote, type StoredEvent } from '../client/remote.ts';
import { type Destination, forward, startDestination, withDirectory } from './forward-support.ts';

const start = 1_700_000_000_000_000;
const numbered = (n: number): StoredEvent => ({
  time: start + n,
  more: `,"n":${n},"huge":12345678901234567890.10`,
});
const range = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n);

let remote: Remote;
let old: Remote;
let destination: Destination;
before(async () => {
  [remote, old, destination] = await Promise.all([
    startRemote(),
    startRemote({ feed: false }),
    startDestination(),
  ]);
});
after(() => Promise.all([remote.close(), old.close(), destination.close()]));
beforeEach(() => {
  for (const one of [remote, old]) {
    one.fault = undefined;
    one.requests.length = 0;
    one.events.splice(0, Infinity, ...range(25).map(numbered));
  }
  destination.bodies.length = 0;
  destination.headers.length = 0;
  destination.attempts = 0;
  destination.fault = undefined;
});

const placesOf = (lines: readonly string[]) => lines.map((line) => Number(/"n":(\d+)/.exec(line)?.[1]));
const linesOf = (text: string) => text.split('\n').slice(0, -1);
const places = (text: string) => placesOf(linesOf(text));
const once = (...args: string[]) => forward(['--url', remote.url, '--once', ...args]);
const done = (ran: { code: number; error: string }) => assert.equal(ran.code, 0, ran.error);

describe('to standard output', () => {
  for (const mode of ['feed', 'pages'])
    test(`${mode}: every event as it is, oldest first`, async () => {
      const { url } = mode === 'feed' ? remote : old;
      const ran = await forward(['--url', url, '--once', '--batch', '10']);
      done(ran);
      assert.deepEqual(places(ran.out), range(25));
      const plain = (line: string) => line.replace(/"logged_time":\d+/, '');
      assert.ok(linesOf(ran.out)[3]?.includes('"huge":12345678901234567890.10,"metadata"'));
      assert.equal(plain(linesOf(ran.out)[0] ?? '').includes('"message":"of \\"note\\", {[\\\\"'), true);
      assert.match(ran.error, /delivered=25 batches=3 rejected=0 retries=0 lag_seconds=\d/);
    });

  test('passes filters on, and puts an event that was laid out over lines on one', async () => {
    remote.events.splice(0, Infinity, { time: start, more: ',\n  "n": 1,\r\n"text":"a\\nb"' });
    const ran = await once('--actor', 'a@x', '--user-id', 'u', '--start-time', '2023-01-01T00:00:00+01:00');
    done(ran);
    assert.equal(linesOf(ran.out).length, 1);
    assert.equal((JSON.parse(ran.out) as { text: string }).text, 'a\nb');
    const { query } = remote.requests.at(-1) ?? assert.fail();
    assert.deepEqual(
      ['actor', 'userId', 'startTime'].map((name) => query.get(name)),
      ['a@x', 'u', '2023-01-01T00:00:00+01:00'],
    );
  });

  test('repeats a source that fails, and ends with 1 at one that refuses', async () => {
    let failures = 2;
    remote.fault = (_, response) => failures-- > 0 && reply(response, 500, {}, { 'retry-after': '0' });
    const ran = await once();
    done(ran);
    assert.equal(places(ran.out).length, 25);
    assert.match(
      ran.error,
      /source: 500.*; retrying for up to 120 s, attempt 2 in .*\n.*source: works again after/,
    );
    const refused = await forward(['--url', remote.url], { environment: { AUDITLOG_API_KEY: 'wrong-key' } });
    assert.equal(refused.code, 1);
    assert.match(refused.error, /401 Unauthorized/);
    assert.ok(!refused.error.includes('wrong-key'));
  });

  test('reports its lag in the order of recording, not by event times', async () => {
    remote.fault = ({ query }, response) =>
      query.get('cursor') === 'c10' && reply(response, 403, { title: 'Forbidden', status: 403 });
    const ran = await once('--batch', '10');
    assert.match(ran.error, /delivered=10 batches=1 .* lag_seconds=10\d\./);
  });

  test('follows until it is stopped, with exit code 0', async () => {
    for (const { url, events } of [remote, old]) {
      const stop = new AbortController();
      const running = forward(['--url', url, '--interval', '100ms'], { stop: stop.signal });
      setTimeout(() => events.push({ time: Date.now() * 1000 - 1, more: ',"n":25' }), 150);
      setTimeout(() => stop.abort(), patience(600));
      const ran = await running;
      done(ran);
      assert.deepEqual(places(ran.out), range(26));
    }
  });
});

describe('to a file', () => {
  test('continues at the checkpoint, truncates unknown lines, and writes each event once', () =>
    withDirectory(async (directory) => {
      const [file, checkpoint] = [join(directory, 'events'), join(directory, 'checkpoint')];
      const run = () => once('--to', `file:${file}`, '--checkpoint', checkpoint, '--batch', '10');
      done(await run());
      assert.deepEqual(places(await readFile(file, 'utf8')), range(25));
      assert.equal((await stat(file)).mode & 0o077, 0);
      assert.equal((await stat(checkpoint)).mode & 0o077, 0);
      remote.events.push(...range(5, 25).map(numbered));
      // A run was killed between writing and the checkpoint.
      await appendFile(file, '{"n":25}\n{"n":26');
      done(await run());
      assert.deepEqual(places(await readFile(file, 'utf8')), range(30));
      done(await run());
      assert.deepEqual(places(await readFile(file, 'utf8')), range(30));
      assert.deepEqual((await readdir(directory)).sort(), ['checkpoint', 'events']);
    }));

  test('refuses a checkpoint of another, missing or shorter file, and accepts a restored one', () =>
    withDirectory(async (directory) => {
      const [file, checkpoint] = [join(directory, 'events'), join(directory, 'checkpoint')];
      const run = (path = file) => once('--to', `file:${path}`, '--checkpoint', checkpoint);
      done(await run());
      const whole = await readFile(file);
      const refused = async (words: RegExp, path = file) => {
        const ran = await run(path);
        assert.equal(ran.code, 1, ran.error);
        assert.match(ran.error, words);
        assert.match(ran.error, /a new --checkpoint/);
      };
      await refused(/--to names .*other, but the checkpoint belongs to .*events/, join(directory, 'other'));
      await rm(file);
      await refused(/events is missing; the checkpoint expects \d+ bytes/);
      assert.deepEqual(await readdir(directory), ['checkpoint']);
      await writeFile(file, whole.subarray(0, -100));
      await refused(/has \d+ bytes; the checkpoint expects \d+ bytes/);
      await writeFile(file, whole);
      remote.events.push(numbered(25));
      done(await run());
      assert.deepEqual(places(await readFile(file, 'utf8')), range(26));
      // Another run died between renaming the file and noting the new one.
      await rename(file, `${file}.1`);
      remote.events.push(numbered(26));
      done(await run());
      assert.deepEqual(places(await readFile(file, 'utf8')), [26]);
    }));

  test('takes an unfinished line of its own off a file that it does not know, and nothing else', () =>
    withDirectory(async (directory) => {
      const file = join(directory, 'events');
      await writeFile(file, `{"n":99}\n{"n":1${'x'.repeat(200_000)}`);
      done(await once('--to', `file:${file}`));
      assert.deepEqual(places(await readFile(file, 'utf8')), [99, ...range(25)]);
      await writeFile(file, 'precious');
      const ran = await once('--to', `file:${file}`);
      assert.equal(ran.code, 1);
      assert.equal(await readFile(file, 'utf8'), 'precious');
    }));

  test('rotates by size, keeps the given number, and never divides a batch', () =>
    withDirectory(async (directory) => {
      const [file, checkpoint] = [join(directory, 'events'), join(directory, 'checkpoint')];
      const to = ['--to', `file://${file}`, '--checkpoint', checkpoint, '--batch', '5'];
      remote.events.push(...range(20, 25).map(numbered));
      done(await once(...to, '--rotate-bytes', '4096'));
      const names = (await readdir(directory)).filter((name) => name.startsWith('events')).sort();
      assert.deepEqual(names, ['events', 'events.1', 'events.2']);
      const texts = await Promise.all(
        ['events.1', 'events.2', 'events'].map((name) => readFile(join(directory, name), 'utf8')),
      );
      assert.deepEqual(texts.flatMap(places), range(45));
      assert.ok(texts.every((text) => text.length <= 4096 && places(text).length % 5 === 0));
      remote.events.push(...range(50, 45).map(numbered));
      done(await once(...to, '--rotate-bytes', '4KiB', '--rotate-keep', '1'));
      const kept = (await readdir(directory)).filter((name) => name.startsWith('events.'));
      assert.equal(kept.length, 1);
      const [last] = kept;
      assert.ok(Number(last?.slice('events.'.length)) > 3);
      assert.equal(places(await readFile(file, 'utf8')).at(-1), 94);
    }));

  test('refuses a checkpoint of something else, of another mode, and one that is damaged', () =>
    withDirectory(async (directory) => {
      const checkpoint = join(directory, 'checkpoint');
      done(await once('--checkpoint', checkpoint));
      for (const args of [
        ['--actor', 'a'],
        ['--url', old.url],
        ['--mode', 'pages'],
      ]) {
        const ran = await once('--checkpoint', checkpoint, ...args);
        assert.equal(ran.code, 2, ran.error);
        assert.equal(ran.out, '');
      }
      await writeFile(checkpoint, '{"version":1');
      assert.equal((await once('--checkpoint', checkpoint)).code, 1);
    }));

  test('notices another run on the same checkpoint before it loses its place', () =>
    withDirectory(async (directory) => {
      const args = ['--url', remote.url, '--checkpoint', join(directory, 'checkpoint')];
      const stop = new AbortController();
      const first = forward([...args, '--interval', '100ms'], { stop: stop.signal });
      // The run that finds the checkpoint moved by the other one ends; which one depends on the machine.
      const others = (async () => {
        for (let n = 25; ; n++) {
          remote.events.push(numbered(n));
          const ran = await forward([...args, '--once']);
          if (ran.code !== 0 || stop.signal.aborted) return ran;
        }
      })();
      const ran = await Promise.race([first, others]);
      stop.abort();
      await Promise.all([first, others]);
      assert.equal(ran.code, 1);
      assert.match(ran.error, /another process/);
    }));

  test('names the remedy if the server no longer knows the cursor', () =>
    withDirectory(async (directory) => {
      const checkpoint = join(directory, 'checkpoint');
      done(await once('--checkpoint', checkpoint));
      const text = await readFile(checkpoint, 'utf8');
      await writeFile(checkpoint, text.replace('"c25"', '"other"'));
      const ran = await once('--checkpoint', checkpoint);
      assert.equal(ran.code, 1);
      assert.match(ran.error, /--start-time/);
    }));
});

describe('to an HTTP address', () => {
  const to = (...args: string[]) => once('--to', destination.url, '--batch', '10', ...args);

  test('posts batches with the headers given, compressed if asked', () =>
    withDirectory(async (directory) => {
      const headerFile = join(directory, 'headers');
      await writeFile(headerFile, '# secret\nX-Token: abc\n');
      const args = ['--header', 'Authorization: Splunk ${TOKEN}', '--header-file', headerFile, '--gzip'];
      const base = ['--url', remote.url, '--once', '--to', destination.url, '--batch', '10'];
      done(await forward([...base, ...args], { environment: { TOKEN: 't-1' } }));
      assert.deepEqual(placesOf(destination.lines()), range(25));
      assert.deepEqual(
        destination.headers.map((headers) => [
          headers.authorization,
          headers['x-token'],
          headers['content-type'],
        ]),
        range(3).map(() => ['Splunk t-1', 'abc', 'application/x-ndjson']),
      );
    }));

  test('repeats temporary refusals, in order', async () => {
    const faults = [503, 429, 0, 500];
    destination.fault = (_, response) => {
      const status = faults.shift();
      if (status === undefined) return false;
      if (status === 0) response.destroy();
      else response.writeHead(status, { 'retry-after': '0' }).end();
      return true;
    };
    const ran = await to();
    done(ran);
    assert.deepEqual(placesOf(destination.lines()), range(25));
    assert.match(ran.error, /retries=4/);
  });

  test('accepts a success with any text, but no null as answer of a bulk interface', async () => {
    destination.fault = (body, response) => {
      destination.bodies.push(body);
      response.end(Buffer.from([0x72, 0x65, 0xe7, 0x75]));
      return true;
    };
    done(await to());
    assert.deepEqual(placesOf(destination.lines()), range(25));
    const answers = ['null', '{"errors":true,"items":[null]}'];
    destination.fault = (_, response) => {
      const answer = answers.shift();
      if (answer !== undefined) response.end(answer);
      return answer !== undefined;
    };
    const ran = await to('--format', 'elastic-bulk', '--batch', '1');
    done(ran);
    assert.match(ran.error, /retries=2/);
  });

  test('divides a batch that is too large', async () => {
    destination.fault = (body, response) => {
      if (body.split('\n').length <= 4) return false;
      response.writeHead(413).end();
      return true;
    };
    done(await to());
    assert.deepEqual(placesOf(destination.lines()), range(25));
  });

  test('ends at a final refusal without quoting it, or puts it aside and continues', () =>
    withDirectory(async (directory) => {
      destination.fault = (body, response) => {
        if (!body.includes('"n":13,')) return false;
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ detail: body.slice(0, 200), title: body.slice(0, 200) }));
        return true;
      };
      const checkpoint = join(directory, 'checkpoint');
      const ran = await to('--checkpoint', checkpoint);
      assert.equal(ran.code, 1);
      assert.match(ran.error, /the destination answered 400/);
      assert.ok(!ran.error.includes('category_uid'));
      assert.deepEqual(placesOf(destination.lines()), range(10));
      const rejected = join(directory, 'rejected');
      const again = await to('--checkpoint', checkpoint, '--rejected-to', rejected);
      done(again);
      assert.match(again.error, /delivered=14 batches=2 rejected=1/);
      assert.deepEqual(places(await readFile(rejected, 'utf8')), [13]);
      assert.deepEqual(
        placesOf(destination.lines()),
        range(25).filter((n) => n !== 13),
      );
    }));

  test('splunk-hec: the event whole in an envelope with its time', async () => {
    done(await to('--format', 'splunk-hec'));
    const first = destination.lines()[0] ?? '';
    assert.match(first, /^\{"time":1700000000\.000000,"event":\{"category_uid":3,.*\}\}$/);
    assert.deepEqual(placesOf(destination.lines()), range(25));
    assert.equal(destination.headers[0]?.['content-type'], 'application/json');
  });

  test('elastic-bulk: an id for each event that stays, also for events that are alike', () =>
    withDirectory(async (directory) => {
      remote.events.push(numbered(3), numbered(3));
      const checkpoint = join(directory, 'checkpoint');
      let answers = 0;
      // Stored, but the answer is lost.
      destination.fault = (body, response) => {
        answers += 1;
        if (answers !== 2) return false;
        destination.bodies.push(body);
        response.destroy();
        return true;
      };
      done(await to('--format', 'elastic-bulk', '--checkpoint', checkpoint));
      const lines = destination.lines();
      const ids = lines.filter((_, index) => index % 2 === 0);
      assert.ok(ids.every((line) => /^\{"create":\{"_id":"[\w-]{22}"\}\}$/.test(line)));
      assert.equal(ids.length, 37);
      assert.equal(new Set(ids).size, 27);
      assert.deepEqual(
        placesOf(lines.filter((_, index) => index % 2 === 1)).sort((a, b) => a - b),
        [...range(25), ...range(10, 10), 3, 3].sort((a, b) => a - b),
      );
    }));

  test('elastic-bulk: sends those events again that were refused for now, and no other', async () => {
    const rounds: number[][] = [];
    destination.fault = (body, response) => {
      const sent = placesOf(linesOf(body).filter((line) => line.includes('"n":')));
      rounds.push(sent);
      const status = (n: number) => {
        if (n % 10 === 2 && rounds.length === 1) return 503;
        return n % 10 === 7 && rounds.length <= 2 ? 429 : 201;
      };
      response.end(
        JSON.stringify({ errors: true, items: sent.map((n) => ({ create: { status: status(n) } })) }),
      );
      return true;
    };
    const ran = await to('--format', 'elastic-bulk');
    done(ran);
    assert.deepEqual(rounds, [range(10), [2, 7], [7], range(10, 10), range(5, 20)]);
    assert.match(ran.error, /delivered=25 batches=3 rejected=0 retries=2/);
  });

  test('elastic-bulk: looks at the answer for each event', () =>
    withDirectory(async (directory) => {
      const rejected = join(directory, 'rejected');
      let answers = 0;
      destination.fault = (body, response) => {
        const lines = body.split('\n').filter((line) => line.includes('"n":'));
        const busy = answers++ === 0;
        const items = lines.map((line, index) => {
          const status = line.includes('"n":4,') ? 400 : index === 1 ? 409 : busy && index === 2 ? 429 : 201;
          return { create: { status } };
        });
        response.end(JSON.stringify({ errors: true, items }));
        return true;
      };
      const ran = await to('--format', 'elastic-bulk', '--rejected-to', rejected);
      done(ran);
      assert.deepEqual(places(await readFile(rejected, 'utf8')), [4]);
      assert.match(ran.error, /delivered=24 batches=3 rejected=1 retries=1/);
      answers = 1;
      assert.equal((await to('--format', 'elastic-bulk')).code, 1);
    }));
});

describe('from a server without a feed', () => {
  const run = (checkpoint: string, ...args: string[]) =>
    forward(['--url', old.url, '--once', '--batch', '10', '--checkpoint', checkpoint, ...args]);

  test('random arrivals, late by less than the overlap, alike or of one time: each is delivered once', async () => {
    const arrival = fc.record({
      ageSeconds: fc.integer({ min: 1, max: 5 }),
      kind: fc.integer({ min: 0, max: 1 }),
    });
    const looks = fc.array(fc.array(arrival, { maxLength: 15 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(looks, (rounds) =>
        withDirectory(async (directory) => {
          old.events.length = 0;
          const second = Math.floor(Date.now() / 1000) * 1_000_000;
          const got: string[] = [];
          for (const arrivals of rounds) {
            for (const { ageSeconds, kind } of arrivals)
              old.events.push({ time: second - ageSeconds * 1_000_000, more: `,"kind":${kind}` });
            const ran = await run(join(directory, 'checkpoint'), '--overlap', '1m');
            done(ran);
            got.push(...linesOf(ran.out));
          }
          const keyOf = (line: string) => line.replace(/^.*"time":(\d+).*"kind":(\d).*$/, '$1 $2');
          assert.deepEqual(
            got.map(keyOf).sort(),
            old.events.map(({ time, more }) => `${time} ${more?.at(-1) ?? ''}`).sort(),
          );
        }),
      ),
      { numRuns: 25 },
    );
  });

  test('a clock here that is further ahead than the overlap loses nothing', () =>
    withDirectory(async (directory) => {
      old.events.length = 0;
      const got: number[] = [];
      for (const n of range(4)) {
        const ran = await run(join(directory, 'checkpoint'), '--overlap', '1m');
        done(ran);
        got.push(...places(ran.out));
        old.events.push({ ...numbered(n), time: (Date.now() - 900_000) * 1000 });
      }
      assert.deepEqual(got, [0, 1, 2]);
    }));

  test('divides long ranges and reads each until it is stable', () =>
    withDirectory(async (directory) => {
      old.events.splice(
        0,
        Infinity,
        ...range(12_000).map((n) => ({ ...numbered(n), time: start + n * 1000 })),
      );
      let late = 3;
      old.fault = ({ query }) => {
        // Comes between two pages, at the beginning of the range, which depends on the time of day.
        const front = (Date.parse(query.get('startTime') ?? '') + 1) * 1000;
        if (query.get('offset') === '1000' && late-- > 0)
          old.events.push({ ...numbered(12_000 + late), time: front + late });
        return false;
      };
      const ran = await run(join(directory, 'checkpoint'), '--batch', '1000');
      done(ran);
      assert.deepEqual(
        places(ran.out).sort((a, b) => a - b),
        range(12_003),
      );
      old.fault = undefined;
      assert.equal((await run(join(directory, 'checkpoint'))).out, '');
    }));

  test('begins at --start-time and leaves the future to the future', async () => {
    old.events.splice(0, Infinity, numbered(1), { time: Date.now() * 1000 + 60_000_000, more: ',"n":2' });
    const all = await forward(['--url', old.url, '--once']);
    assert.deepEqual(places(all.out), [1]);
    const later = await forward(['--url', old.url, '--once', '--start-time', '2024-01-01T00:00:00Z']);
    assert.deepEqual([later.code, later.out], [0, '']);
  });
});

test('wrong usage ends with 2, names the option, and repeats no secret', async () => {
  const url = ['--url', remote.url];
  for (const [args, pattern] of [
    [[], /--url/],
    [['--url', 'nonsense'], /--url/],
    [['--url', 'http://u:hunter2@h'], /--url/],
    [[...url, '--to', 'nonsense'], /--to/],
    [[...url, '--to', 'https://u:hunter2@h'], /--to/],
    [[...url, '--format', 'xml'], /--format/],
    [[...url, '--header', 'hunter2'], /--header/],
    [[...url, '--header', 'A: ${NOT_SET}'], /NOT_SET/],
    [[...url, '--header-file', '/nonexistent'], /--header-file/],
    [[...url, '--key-file', '/nonexistent'], /--key-file/],
    [[...url, '--interval', 'soon'], /--interval/],
    [[...url, '--timeout', '5m'], /--timeout: a duration such as 90s, from 1s to 4m/],
    [[...url, '--batch', '1001'], /--batch/],
    [[...url, '--rotate-bytes', '1'], /--rotate-bytes/],
    [[...url, '--mode', 'push'], /--mode/],
    [[...url, '--start-time', '2024-01-01'], /--start-time/],
    [[...url, '--flow-id', 'x'], /--flow-id/],
    [[...url, '--activity', 'abc'], /--activity/],
    [[...url, '--status-not', 'Success,x'], /--status-not/],
    [[...url, '--key', remoteKey], /--key/],
    [[...url, '--to', 's3://b/p'], /--to: .*3 to 63 characters/],
    [[...url, '--to', destination.url, '--label', 'a=b'], /--label: only for --format loki or otlp/],
    [[...url, '--to', destination.url, '--rotate-bytes', '64MiB'], /--rotate-bytes: only for file/],
    [[...url, '--to', destination.url, '--s3-region', 'eu-central-1'], /--s3-region: only for s3/],
    [[...url, '--to', 'file:/nonexistent/x', '--rotate-keep', '2'], /--rotate-keep: only for file with/],
    [[...url, '--gzip'], /--gzip: only for/],
  ] as const) {
    const ran = await forward(args);
    assert.equal(ran.code, 2, args.join(' '));
    assert.match(ran.error, pattern);
    assert.ok(!ran.error.includes('hunter2'), ran.error);
  }
  const none = await forward(url, { environment: { AUDITLOG_API_KEY: '' } });
  assert.equal(none.code, 2);
  assert.match(none.error, /AUDITLOG_API_KEY/);
});
