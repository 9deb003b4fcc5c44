import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/base/time/clock.ts';
import type { Logger } from '../../src/base/observability/log.ts';
import { eventually } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import '../support/strict-writer.cjs';
import { AccessLog } from '../../src/http/access-log.ts';
import { createRouter, type Route } from '../../src/http/router.ts';
import { type HttpServer, type HttpServerOptions, startHttpServer } from '../../src/http/server.ts';

export interface LoggedLine {
  readonly level: string;
  readonly facts: Record<string, unknown>;
  readonly words: string;
}

export interface TestServer {
  readonly server: HttpServer;
  readonly url: string;
  readonly logged: LoggedLine[];
  /** Access-log lines of all ended requests. */
  accessLines(): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

export function recordingLogger(logged: LoggedLine[]): Logger {
  const at = (level: string) => (facts: object, words: string) =>
    void logged.push({ level, facts: facts as Record<string, unknown>, words });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Complete lines of an access log; the last may be incomplete. */
function parseLines(text: string): Record<string, unknown>[] {
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** A server with these routes on a free port, with its access log in a temporary file. */
export async function startTestServer(
  routes: readonly Route[],
  options: Partial<HttpServerOptions> = {},
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'http-test-'));
  const file = join(folder, 'access.log');
  // The log opens it in the background.
  await writeFile(file, '');
  const logged: LoggedLine[] = [];
  const log = recordingLogger(logged);
  const accessLog = new AccessLog({ destination: file, clock: systemClock, log });
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    router: createRouter(routes),
    log,
    accessLog,
    trustProxy: 0,
    ...options,
  }).catch(async (error: unknown) => {
    await accessLog.close();
    await rm(folder, { recursive: true });
    throw error;
  });
  return {
    server,
    url: `http://127.0.0.1:${server.port}`,
    logged,
    async accessLines() {
      // A later request's line is written after theirs.
      const path = `/${randomUUID()}`;
      await (await fetch(`http://127.0.0.1:${server.port}${path}`)).arrayBuffer();
      return eventually('the newest access-log line', async () => {
        const lines = parseLines(await readFile(file, 'utf8'));
        const last = lines.findIndex((line) => line['path'] === path);
        return last === -1 ? undefined : lines.slice(0, last);
      });
    },
    async close() {
      server.close();
      await accessLog.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Sends bytes on a new socket and returns the answer until the end, or until `ms` after the beginning. */
export async function exchangeRaw(
  port: number,
  parts: readonly (string | Buffer)[],
  ms = 400,
  answerMs = 2500,
): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const received: Buffer[] = [];
  socket.on('data', (chunk) => received.push(chunk));
  socket.on('error', (error) => received.push(Buffer.from(`<${String(error)}>`)));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const answered = new Promise((resolve) => socket.once('data', resolve));
  for (const part of parts) {
    socket.write(part);
    await delay(5);
  }
  // On a busy machine the answer takes time; later bytes do not.
  await Promise.race([closed, answered, delay(answerMs, undefined, { ref: false })]);
  await Promise.race([closed, delay(ms)]);
  socket.destroy();
  return Buffer.concat(received).toString('latin1');
}

/** Waits until the condition is true; fails after `ms`. */
export async function until(condition: () => boolean, ms = 3000): Promise<void> {
  const end = performance.now() + patience(ms);
  while (!condition()) {
    if (performance.now() > end) throw new Error('the condition did not come true in time');
    await delay(5);
  }
}
