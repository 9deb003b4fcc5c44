import { createWriteStream } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { epochMs } from '../load/job.ts';

/** Access to the service's engine, from `engine.json` of its data directory. */
export interface EngineAccess {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The service's database. */
  readonly database: string;
  /** Unknown for an engine on another machine. */
  readonly pid: number | undefined;
}

export type Settings = Readonly<Record<string, string | number>>;

/** The bare engine, over plain HTTP without the service. */
export interface Engine {
  readonly access: EngineAccess;
  /** The answer of a statement; `body` follows an INSERT. */
  query(sql: string, settings?: Settings): Promise<string>;
  /** The first column of the first row, as a number. */
  number(sql: string): Promise<number>;
  /** Appends the answer to a file; resolves with its bytes. */
  save(sql: string, path: string): Promise<number>;
  /** Path and query of a POST that runs a statement; its body follows an INSERT. */
  path(sql: string, settings?: Settings): string;
  /** The headers that such a request needs. */
  readonly headers: Readonly<Record<string, string>>;
  /** Head of that request for the load generator. */
  head(sql: string, settings?: Settings): string;
  /** Waits until no merge runs; returns the time since then (`epochMs`). */
  mergesDone(): Promise<number>;
}

const settledPollMs = 50;
const settledPolls = 4;
const settledMsMax = 120_000;

export function reachEngine(access: EngineAccess): Engine {
  const authorization = `Basic ${Buffer.from(`${access.user}:${access.password}`).toString('base64')}`;
  const headers = { ...access.headers, Authorization: authorization };

  async function send(sql: string, settings: Settings = {}): Promise<IncomingMessage> {
    const parameters = new URLSearchParams(
      Object.entries(settings).map(([k, v]) => [k, String(v)] as [string, string]),
    );
    // Not fetch: it gives up after five minutes without a header, and a merge of a large table takes longer.
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const url = `${access.url}/?${parameters.toString()}`;
      request(url, { method: 'POST', headers }, resolve).on('error', reject).end(sql);
    });
    if (answer.statusCode !== 200)
      throw new Error(`the engine refuses: ${(await text(answer)).slice(0, 500)}`);
    return answer;
  }

  async function query(sql: string, settings: Settings = {}): Promise<string> {
    return text(await send(sql, { wait_end_of_query: 1, ...settings }));
  }

  function path(sql: string, settings: Settings = {}): string {
    const parameters = new URLSearchParams({ query: sql });
    for (const [name, value] of Object.entries(settings)) parameters.set(name, String(value));
    return `/?${parameters.toString()}`;
  }

  return {
    access,
    query,
    number: async (sql) => Number((await query(sql)).split(/\s/)[0]),
    async save(sql, path) {
      const file = createWriteStream(path, { flags: 'a' });
      await pipeline(await send(sql), file);
      return file.bytesWritten;
    },
    headers,
    path,
    head(sql, settings) {
      const { host } = new URL(access.url);
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      return `POST ${path(sql, settings)} HTTP/1.1\r\nHost: ${host}\r\n${lines.join('')}`;
    },
    async mergesDone() {
      const deadline = performance.now() + settledMsMax;
      let since = epochMs();
      for (let quiet = 0; quiet < settledPolls && performance.now() < deadline; ) {
        const merging = Number(await query('SELECT count() FROM system.merges'));
        if (merging > 0) quiet = 0;
        else if (quiet++ === 0) since = epochMs();
        await sleep(settledPollMs);
      }
      return since;
    },
  };
}
