import { strict as assert } from 'node:assert';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { after, before, beforeEach, describe, test, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { type Remote, startRemote } from '../client/remote.ts';
import { checkSignature, s3Environment, type TakenRequest } from '../support/s3.ts';
import { forward, withDirectory } from './forward-support.ts';

/** Destinations of `forward` other than files and plain HTTP, each strict about its protocol. */

const start = 1_700_000_000_000_001;
const range = (count: number) => Array.from({ length: count }, (_, n) => n);

let remote: Remote;
let platform: Server;
let url: string;
let taken: TakenRequest[];
let attempts: number;
/** Answers a request, which is kept if it returns true. */
let answer: (request: TakenRequest, response: ServerResponse) => boolean;

before(async () => {
  remote = await startRemote();
  platform = createHttpServer((request, response) => {
    void buffer(request).then((body) => {
      attempts += 1;
      const { method = '', url: path = '', headers } = request;
      const one = { method, path, headers, body };
      if (answer(one, response)) taken.push(one);
    });
  });
  platform.listen(0, '127.0.0.1');
  await once(platform, 'listening');
  url = `http://127.0.0.1:${(platform.address() as AddressInfo).port}`;
});
after(async () => {
  platform.close();
  await remote.close();
});
beforeEach(() => {
  remote.events.splice(
    0,
    Infinity,
    ...range(25).map((n) => ({ time: start + n, more: `,"n":${n},"severity_id":${n === 3 ? 4 : 1}` })),
  );
  taken = [];
  attempts = 0;
  answer = (_, response) => {
    response.writeHead(204).end();
    return true;
  };
});

const run = (to: string, ...args: string[]) =>
  forward(['--url', remote.url, '--once', '--batch', '10', '--to', to, ...args]);
const placeOf = (text: string) => Number(/"n":(\d+)/.exec(text)?.[1]);
const done = (ran: { code: number; error: string }) => assert.equal(ran.code, 0, ran.error);

/** The first attempt gets this status, later ones the usual. */
function busyOnce(status: number): void {
  const usual = answer;
  answer = (request, response) => {
    if (attempts > 1) return usual(request, response);
    response.writeHead(status, { 'retry-after': '0' }).end('{}');
    return false;
  };
}

describe('Loki', () => {
  test('a stream with its labels, times in nanoseconds, each event a line', async () => {
    busyOnce(429);
    done(await run(`${url}/loki/api/v1/push`, '--format', 'loki', '--label', 'env=test'));
    const values = taken.flatMap(({ method, headers, body }) => {
      assert.deepEqual([method, headers['content-type']], ['POST', 'application/json']);
      const push = JSON.parse(body.toString()) as {
        streams: { stream: object; values: [string, string][] }[];
      };
      assert.deepEqual(Object.keys(push), ['streams']);
      const [stream, ...others] = push.streams;
      assert.deepEqual([stream?.stream, others], [{ service_name: 'auditlog', env: 'test' }, []]);
      return stream?.values ?? [];
    });
    assert.deepEqual(
      values.map(([time, line]) => [time, placeOf(line)]),
      range(25).map((n) => [`${start + n}000`, n]),
    );
  });
});

interface Export {
  readonly resourceLogs: readonly {
    readonly resource: object;
    readonly scopeLogs: readonly {
      readonly logRecords: readonly {
        readonly timeUnixNano: string;
        readonly severityNumber: number;
        readonly body: { readonly stringValue: string };
        readonly attributes: readonly { readonly value: { readonly stringValue: string } }[];
      }[];
    }[];
  }[];
}

describe('OTLP', () => {
  const recordsIn = ({ body }: TakenRequest) =>
    (JSON.parse(body.toString()) as Export).resourceLogs[0]?.scopeLogs[0]?.logRecords ?? [];

  test('export requests with a time, a severity and an id that a repetition keeps', async () => {
    answer = (_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{"partialSuccess":{}}');
      return true;
    };
    busyOnce(503);
    await withDirectory(async (directory) => {
      const checkpoint = join(directory, 'checkpoint');
      const args = ['--format', 'otlp', '--checkpoint', checkpoint];
      const full = answer;
      answer = (request, response) => {
        if (attempts !== 3) return full(request, response);
        // The answer to this batch is lost, and the run ends.
        response.writeHead(400).end();
        return true;
      };
      assert.equal((await run(`${url}/v1/logs`, ...args)).code, 1);
      answer = full;
      done(await run(`${url}/v1/logs`, ...args));
    });
    const records = taken.flatMap(recordsIn);
    const ids = new Map(
      records.map(({ attributes, body }) => [attributes[0]?.value.stringValue, placeOf(body.stringValue)]),
    );
    assert.deepEqual([...ids.values()], range(25));
    assert.equal(records.length, 35);
    assert.deepEqual(
      records.slice(2, 5).map(({ timeUnixNano, severityNumber }) => [timeUnixNano, severityNumber]),
      [2, 3, 4].map((n) => [`${start + n}000`, n === 3 ? 17 : 9]),
    );
  });

  test('records that are refused without saying which end the run, or go to the file with their batch', async () => {
    answer = (request, response) => {
      const rejected = recordsIn(request).some(({ body }) => placeOf(body.stringValue) === 12) ? '1' : '0';
      response.end(JSON.stringify({ partialSuccess: { rejectedLogRecords: rejected, errorMessage: 'no' } }));
      return true;
    };
    const ended = await run(`${url}/v1/logs`, '--format', 'otlp');
    assert.equal(ended.code, 1);
    assert.match(ended.error, /refused 1 events permanently/);
    await withDirectory(async (directory) => {
      const file = join(directory, 'rejected');
      const ran = await run(`${url}/v1/logs`, '--format', 'otlp', '--rejected-to', file);
      done(ran);
      assert.match(ran.error, /delivered=24 batches=3 rejected=1 /);
      const lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
      assert.deepEqual(
        lines.map(placeOf),
        range(10).map((n) => n + 10),
      );
    });
  });
});

describe('S3', () => {
  const environment = s3Environment;
  const put = (...args: string[]) =>
    forward(
      [
        '--url',
        remote.url,
        '--once',
        '--batch',
        '10',
        '--to',
        's3://audit-logs/a b/ö',
        '--s3-endpoint',
        url,
        ...args,
      ],
      { environment },
    );

  test('signed objects, one a batch, that a repetition replaces', async () => {
    answer = (request, response) => {
      checkSignature(request, environment.AWS_SECRET_ACCESS_KEY, 'eu-central-1');
      response.end();
      return true;
    };
    busyOnce(503);
    await withDirectory(async (directory) => {
      const checkpoint = join(directory, 'checkpoint');
      const args = ['--gzip', '--s3-region', 'eu-central-1', '--checkpoint', checkpoint];
      const full = answer;
      answer = (request, response) => {
        if (attempts !== 3) return full(request, response);
        response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
        return full(request, response);
      };
      const ended = await put(...args);
      assert.equal(ended.code, 1);
      assert.match(ended.error, /the destination answered 403/);
      assert.doesNotMatch(ended.error, /secret|AccessDenied/);
      answer = full;
      done(await put(...args));
    });
    const objects = new Map(taken.map(({ path, body }) => [path, gunzipSync(body).toString()]));
    assert.equal(objects.size, 3);
    for (const path of objects.keys())
      assert.match(path, /^\/audit-logs\/a%20b\/%C3%B6\/2023\/11\/14\/17\d{14}-[\w-]{22}\.ndjson\.gz$/);
    const lines = [...objects.values()].flatMap((text) => text.split('\n').slice(0, -1));
    assert.deepEqual(lines.map(placeOf), range(25));
  });

  test('needs credentials, from the environment, and lines', async () => {
    const none = await run('s3://audit-logs');
    assert.equal(none.code, 2);
    assert.match(none.error, /AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/);
    assert.match((await put('--format', 'loki')).error, /--format: ndjson with s3/);
    for (const to of ['s3://', 's3://A', 's3:bucket', 'syslog+tcp://', 'syslog+tls://h/path', 'syslog://h'])
      assert.equal((await run(to)).code, 2, to);
    assert.equal((await run(`${url}/x`, '--format', 'loki', '--label', 'x')).code, 2);
  });
});

/** The messages of a stream with octet counting (RFC 6587, 3.4.1). */
function messagesIn(stream: Buffer): string[] {
  const messages: string[] = [];
  for (let at = 0; at < stream.length; ) {
    const [count = ''] =
      /^[1-9]\d* /.exec(stream.toString('latin1', at, at + 10)) ?? assert.fail('no octet count');
    const begin = at + count.length;
    at = begin + Number(count);
    assert.ok(at <= stream.length, 'a message is cut short');
    messages.push(stream.toString('utf8', begin, at));
  }
  return messages;
}

const syslogMessage = /^<(\d+)>1 (2023-11-14T22:13:20\.\d{6}Z) 127\.0\.0\.1 auditlog - - - (\{.*\})$/s;

describe('syslog', () => {
  /** A receiver that reads each connection to its end, but may break off the first. */
  const receive = (streams: Buffer[], breakFirst: boolean) => {
    let connections = 0;
    return (socket: Socket) => {
      connections += 1;
      const pieces: Buffer[] = [];
      const isBroken = breakFirst && connections === 1;
      socket.on('error', () => undefined);
      socket.on('data', (piece: Buffer) => {
        pieces.push(piece);
        if (isBroken) socket.resetAndDestroy();
      });
      socket.on('end', () => streams.push(Buffer.concat(pieces)));
    };
  };
  const check = (streams: readonly Buffer[]): void => {
    const messages = streams.flatMap(messagesIn).map((text) => syslogMessage.exec(text) ?? assert.fail(text));
    assert.deepEqual(
      messages.map(([, , , event = '']) => placeOf(event)),
      range(25),
    );
    assert.deepEqual(
      messages.slice(2, 5).map(([, priority, time]) => [priority, time]),
      [2, 3, 4].map((n) => [n === 3 ? '107' : '110', `2023-11-14T22:13:20.00000${n + 1}Z`]),
    );
  };
  const listen = async (server: Server): Promise<number> => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };

  test('over TCP: a batch counts when the receiver has read it to its end; a broken one is sent again', async () => {
    const streams: Buffer[] = [];
    const server = createTcpServer(receive(streams, true));
    const ran = await run(`syslog+tcp://127.0.0.1:${await listen(server)}`);
    server.close();
    done(ran);
    assert.match(ran.error, /delivered=25 batches=3 rejected=0 retries=[1-9]/);
    check(streams);
  });

  /** With a certificate for 127.0.0.1 of an unknown authority, as a file and as server options. */
  const withCertificate = async (
    t: TestContext,
    work: (made: { readonly cert: string; readonly options: TlsOptions }) => Promise<void>,
  ): Promise<void> => {
    if (spawnSync('openssl', ['version']).status !== 0)
      return t.skip('openssl, which makes the certificate, is not here');
    await withDirectory(async (directory) => {
      const [key, cert] = [join(directory, 'key'), join(directory, 'cert')];
      const of = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2', '-nodes'];
      const make = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', ...of];
      execFileSync('openssl', [...make, '-keyout', key, '-out', cert], { stdio: 'ignore' });
      await work({ cert, options: { key: await readFile(key), cert: await readFile(cert) } });
    });
  };

  test('over TLS: to a certificate that is trusted, and to no other', (t) =>
    withCertificate(t, async ({ cert, options }) => {
      const streams: Buffer[] = [];
      const server = createTlsServer(options, receive(streams, false));
      const to = `syslog+tls://127.0.0.1:${await listen(server)}`;
      done(await run(to, '--ca', cert));
      check(streams);
      const stop = new AbortController();
      const refused = forward(['--url', remote.url, '--to', to], { stop: stop.signal });
      await once(server, 'tlsClientError');
      stop.abort();
      assert.match(
        (await refused).error,
        /destination: no delivery to 127\.0\.0\.1:\d+: DEPTH_ZERO_SELF_SIGNED_CERT; retrying until it works, attempt 2/,
      );
      assert.equal(streams.length, 3);
      server.close();
    }));

  /** Ends the first two connections after the first piece: one cleanly, one with a reset. */
  const endEarly = (streams: Buffer[]) => {
    const usual = receive(streams, false);
    let connections = 0;
    return (socket: Socket) => {
      connections += 1;
      const number = connections;
      if (number > 2) return usual(socket);
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.pause();
        if (number === 1) socket.end();
        else socket.destroy();
      });
    };
  };
  /** More than a receiver's system buffers, and less than this side's. */
  const enlarge = (): void => {
    const more = `,"file":"${'x'.repeat(40_000)}"`;
    for (const [n, event] of remote.events.entries()) {
      remote.events[n] = { ...event, more: `${event.more}${more}` };
    }
  };

  test('over TLS: what a receiver that closes early has not read is sent again', (t) =>
    withCertificate(t, async ({ cert, options }) => {
      enlarge();
      const streams: Buffer[] = [];
      const server = createTlsServer(options, endEarly(streams));
      const to = `syslog+tls://127.0.0.1:${await listen(server)}`;
      const ran = await run(to, '--ca', cert, '--batch', '25');
      server.close();
      done(ran);
      assert.match(ran.error, /delivered=25 batches=1 rejected=0 retries=2 /);
      check(streams);
    }));
});
