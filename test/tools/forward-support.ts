import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import type { CliDeps } from '../../src/cli/context.ts';
import { runCli } from '../../src/cli/program.ts';
import { remoteKey } from '../client/remote.ts';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** Runs `forward` in this process; `stop` ends it. */
export async function forward(
  args: readonly string[],
  more: { readonly environment?: Record<string, string>; readonly stop?: AbortSignal } = {},
): Promise<Ran> {
  const said = { out: '', error: '' };
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      said.out += chunk.toString();
      done();
    },
  });
  const { stop } = more;
  const deps: CliDeps = {
    environment: { AUDITLOG_API_KEY: remoteKey, ...more.environment },
    io: {
      out: (text) => {
        said.out += text;
      },
      error: (text) => {
        said.error += text;
      },
      input: Readable.from([]),
      output,
    },
    eventEnvelope: () => assert.fail('not for this command'),
    recordEvents: () => Promise.reject(new Error('not for this command')),
    startService: () => Promise.reject(new Error('not for this command')),
    untilStopped: () =>
      new Promise((resolve) => stop?.addEventListener('abort', () => resolve(), { once: true })),
  };
  return { code: await runCli(['forward', ...args], deps), ...said };
}

export async function withDirectory(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'auditlog-forward-'));
  try {
    await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

export interface Destination {
  readonly url: string;
  /** Bodies of requests with a successful answer. */
  readonly bodies: string[];
  readonly headers: IncomingHttpHeaders[];
  attempts: number;
  /** Answers the request if it returns true; other requests are kept. */
  fault: ((body: string, response: ServerResponse) => boolean) | undefined;
  lines(): string[];
  close(): Promise<void>;
}

/** A log platform's HTTP input. */
export async function startDestination(): Promise<Destination> {
  const server = createServer((request, response) => {
    void (async () => {
      const zipped = request.headers['content-encoding'] === 'gzip';
      const body = await readText(zipped ? request.pipe(createGunzip()) : request).catch(() => undefined);
      if (body === undefined) return; // The sender was killed half way.
      destination.attempts += 1;
      if (destination.fault?.(body, response) === true) return;
      destination.bodies.push(body);
      destination.headers.push(request.headers);
      const items = body
        .split('\n')
        .filter((line) => line.startsWith('{"create"'))
        .map(() => ({ create: { status: 201 } }));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ errors: false, items }));
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const destination: Destination = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`,
    bodies: [],
    headers: [],
    attempts: 0,
    fault: undefined,
    lines: () => destination.bodies.flatMap((body) => body.split('\n').filter((line) => line !== '')),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return destination;
}
