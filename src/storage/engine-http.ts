import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { limits } from './limits.ts';

/** Where an answer goes, in this order: `head`, any number of `data`, then `end`; or at any point `failed`. */
export interface Receiver {
  head(status: number, headers: ReadonlyMap<string, string>): void;
  /**
   * Bytes of the body, which are good only during the call: the next read overwrites them. False asks for a pause
   * until `resume()`; what had been read already still comes.
   */
  data(piece: Uint8Array): boolean;
  end(): void;
  failed(error: Error): void;
}

export interface HttpCall {
  resume(): void;
  /** Gives the call up; the receiver hears no more of it. */
  destroy(): void;
}

/** HTTP/1.1 to one address, as much of it as an engine speaks, on a bounded number of connections that are kept. */
export interface EngineHttp {
  /**
   * POST. `target` is path and query. A body in pieces is sent in order without being joined, at the pace of the
   * other side.
   */
  post(target: string, body: string | Iterable<Uint8Array>, receiver: Receiver): HttpCall;
  /** Connections that are idle end now, others with their calls. */
  close(): void;
}

interface Job {
  readonly target: string;
  readonly body: string | Iterable<Uint8Array>;
  readonly receiver: Receiver;
}

interface Connection {
  start(job: Job): void;
  /** False once it ends, which its socket tells only later, and when the other side may have ended it by now. */
  isUsable(): boolean;
  resume(): void;
  destroy(): void;
}

/**
 * All sockets read into this one buffer: what was read is used up before the next read. Allocating one for each read,
 * as streams do, makes the collector run for a third of the time that a page takes.
 */
const received = Buffer.allocUnsafeSlow(limits.engineReadBytes);

export function createEngineHttp(url: URL, headers: Readonly<Record<string, string>>): EngineHttp {
  const fixedHead = Object.entries({ Host: url.host, 'User-Agent': 'auditlog', ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const idle: Connection[] = [];
  const all = new Set<Connection>();
  const waiting = new Set<Job>();
  let closed = false;

  const release = (connection: Connection): void => {
    if (closed) return connection.destroy();
    const [next] = waiting;
    if (next === undefined) {
      idle.push(connection);
      return;
    }
    waiting.delete(next);
    connection.start(next);
  };
  const gone = (connection: Connection): void => {
    all.delete(connection);
    const at = idle.indexOf(connection);
    if (at >= 0) idle.splice(at, 1);
    const [next] = waiting;
    if (next === undefined) return;
    waiting.delete(next);
    open().start(next);
  };
  const open = (): Connection => {
    const connection = openConnection(url, fixedHead, release, gone);
    all.add(connection);
    return connection;
  };
  return {
    post(target, body, receiver) {
      const job: Job = { target, body, receiver };
      // The one used last: the others may then grow old and go.
      let connection = idle.pop();
      while (connection !== undefined && !connection.isUsable()) {
        connection.destroy();
        connection = idle.pop();
      }
      if (connection === undefined && all.size < limits.engineConnectionsMax) connection = open();
      if (connection === undefined) waiting.add(job);
      else connection.start(job);
      const own = (): Connection | undefined => connections.get(job);
      return {
        resume: () => own()?.resume(),
        destroy: () => {
          waiting.delete(job);
          own()?.destroy();
        },
      };
    },
    close() {
      closed = true;
      for (const connection of idle) connection.destroy();
    },
  };
}

/** Which connection a job is on, while it is on one. */
const connections = new WeakMap<Job, Connection>();

function openConnection(
  url: URL,
  fixedHead: string,
  release: (connection: Connection) => void,
  gone: (connection: Connection) => void,
): Connection {
  let job: Job | undefined;
  let parser: AnswerParser | undefined;
  let sending = false;
  let lastError: Error | undefined;
  let usedAt = 0;

  const socket = openSocket(url, (bytes, buffer) => {
    const current = parser;
    // Bytes that nobody asked for are no answer to anything.
    if (current === undefined) {
      socket.destroy();
      return false;
    }
    try {
      current.take(buffer.subarray(0, bytes));
    } catch (error) {
      lastError = error instanceof Error ? error : new Error(String(error));
      socket.destroy();
      return false;
    }
    // The receiver may have given the call up meanwhile.
    if (parser !== current) return true;
    if (current.isComplete()) finish(current.mayStay());
    return !current.isPaused() || current.isComplete();
  });
  // Shorter than any engine keeps an idle connection (3 s at least), so none is used as it is being closed.
  const age = setTimeout(() => {
    if (job === undefined) socket.destroy();
  }, limits.engineIdleConnectionMs).unref();

  const leave = (): Job | undefined => {
    const left = job;
    if (left !== undefined) connections.delete(left);
    job = undefined;
    parser = undefined;
    return left;
  };
  const finish = (mayStay: boolean): void => {
    const stays = mayStay && !sending && socket.writableLength === 0;
    const done = leave();
    if (stays) {
      age.refresh();
      usedAt = performance.now();
    }
    done?.receiver.end();
    if (stays && !socket.destroyed) release(connection);
    else socket.destroy();
  };
  socket.on('error', (error) => {
    lastError ??= error;
  });
  socket.on('end', () => {
    if (job === undefined) socket.destroy();
    else if (parser?.endsWithConnection() === true) finish(false);
  });
  socket.on('close', () => {
    clearTimeout(age);
    const left = leave();
    gone(connection);
    left?.receiver.failed(lastError ?? new Error('the connection was closed in mid-answer'));
  });

  const connection: Connection = {
    // The timer of its age may be late, where the loop was held up for long.
    isUsable: () => !socket.destroyed && performance.now() - usedAt < limits.engineIdleConnectionMs,
    start(next) {
      job = next;
      connections.set(next, connection);
      parser = createAnswerParser(next.receiver);
      const head = `POST ${next.target} HTTP/1.1\r\n${fixedHead}`;
      if (typeof next.body === 'string') {
        const text = next.body;
        socket.write(`${head}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
        return;
      }
      sending = true;
      socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
      const pieces = next.body[Symbol.iterator]();
      const send = (): void => {
        // An answer that came before the end of the body: the rest is of no use.
        if (job !== next) return;
        for (;;) {
          const piece = pieces.next();
          if (piece.done === true) {
            sending = false;
            socket.write('0\r\n\r\n');
            return;
          }
          if (piece.value.length === 0) continue;
          socket.cork();
          socket.write(`${piece.value.length.toString(16)}\r\n`);
          socket.write(piece.value);
          const taken = socket.write('\r\n');
          socket.uncork();
          if (!taken) return void socket.once('drain', send);
        }
      };
      send();
    },
    resume() {
      parser?.resume();
      socket.resume();
    },
    destroy() {
      parser?.stop();
      leave();
      socket.destroy();
    },
  };
  return connection;
}

function openSocket(url: URL, callback: (bytes: number, buffer: Uint8Array) => boolean): Socket {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const onread = { buffer: received, callback };
  if (url.protocol === 'https:') {
    const port = Number(url.port === '' ? 443 : url.port);
    const options: ConnectionOptions & { onread: typeof onread } = { host, port, onread };
    if (!/^[\d.]+$|:/.test(host)) options.servername = host;
    return connectTls(options).setNoDelay(true);
  }
  return connect({ host, port: Number(url.port === '' ? 80 : url.port), onread, noDelay: true });
}

interface AnswerParser {
  /** Throws on bytes that are no HTTP answer. */
  take(bytes: Uint8Array): void;
  isComplete(): boolean;
  isPaused(): boolean;
  resume(): void;
  /** Hands out no more, not even of the bytes that are being taken. */
  stop(): void;
  /** The connection may be used again. */
  mayStay(): boolean;
  /** The end of the connection is the end of the body. */
  endsWithConnection(): boolean;
}

type AnswerState =
  | 'head'
  | 'sized'
  | 'chunk line'
  | 'chunk'
  | 'chunk end'
  | 'trailer'
  | 'open end'
  | 'complete'
  | 'given up';

const lineFeed = 10;
const carriageReturn = 13;

/**
 *   head ─▶ sized(n bytes) ────────────────────▶ complete
 *        ─▶ chunk line ⇄ chunk(n bytes, CR LF) ─▶ trailer ─▶ complete
 *        ─▶ until the connection ends
 */
function createAnswerParser(receiver: Receiver): AnswerParser {
  let state: AnswerState = 'head';
  /** Of the head, a chunk's line or the trailer, as far as they have come. */
  let text = '';
  let left = 0;
  let paused = false;
  let keeps = true;

  const hand = (piece: Uint8Array): void => {
    if (!receiver.data(piece)) paused = true;
  };

  /** Takes a line up to its line feed; undefined where it has not come yet. Moves `at`. */
  let at = 0;
  const line = (bytes: Uint8Array): string | undefined => {
    const end = bytes.indexOf(lineFeed, at);
    const stop = end === -1 ? bytes.length : end + 1;
    text += Buffer.from(bytes.buffer, bytes.byteOffset + at, stop - at).toString('latin1');
    at = stop;
    if (text.length > limits.engineHeadBytesMax) throw new Error('the answer has a head without end');
    if (end === -1) return undefined;
    const whole = text;
    text = '';
    return whole;
  };

  let lines: string[] = [];
  const readHead = (next: string): void => {
    if (next !== '\r\n' && next !== '\n') {
      lines.push(next);
      if (lines.length > limits.engineHeadLinesMax) throw new Error('the answer has a head without end');
      return;
    }
    const [first = '', ...rest] = lines;
    lines = [];
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1]);
    if (!Number.isInteger(status)) throw new Error('the answer is not HTTP/1');
    // Interim answers announce another.
    if (status < 200) return;
    const headers = new Map<string, string>();
    for (const one of rest) {
      const colon = one.indexOf(':');
      if (colon > 0) headers.set(one.slice(0, colon).toLowerCase(), one.slice(colon + 1).trim());
    }
    keeps = first.startsWith('HTTP/1.1') && headers.get('connection')?.toLowerCase() !== 'close';
    const length = headers.get('content-length');
    if (/\bchunked\b/i.test(headers.get('transfer-encoding') ?? '')) state = 'chunk line';
    else if (length !== undefined) {
      left = Number(length);
      if (!/^\d+$/.test(length)) throw new Error('the length of the answer is not a number');
      state = left === 0 ? 'complete' : 'sized';
    } else state = status === 204 ? 'complete' : 'open end';
    receiver.head(status, headers);
  };
  const readChunkLine = (next: string): void => {
    const digits = /^[0-9a-f]{1,12}(?=[;\r\n\s])/i.exec(next)?.[0];
    if (digits === undefined) throw new Error('a chunk of the answer has no length');
    left = Number.parseInt(digits, 16);
    state = left === 0 ? 'trailer' : 'chunk';
  };
  const readBody = (bytes: Uint8Array): void => {
    const size = Math.min(left, bytes.length - at);
    hand(bytes.subarray(at, at + size));
    at += size;
    left -= size;
    if (left === 0 && state !== 'given up') state = state === 'sized' ? 'complete' : 'chunk end';
  };
  return {
    take(bytes) {
      at = 0;
      while (at < bytes.length && state !== 'given up') {
        if (state === 'sized' || state === 'chunk') readBody(bytes);
        else if (state === 'open end') {
          hand(at === 0 ? bytes : bytes.subarray(at));
          return;
        } else if (state === 'complete') throw new Error('bytes follow the answer');
        else if (state === 'chunk end') {
          const byte = bytes[at++];
          if (byte === lineFeed) state = 'chunk line';
          else if (byte !== carriageReturn) throw new Error('a chunk of the answer is longer than it says');
        } else {
          const next = line(bytes);
          if (next === undefined) return;
          if (state === 'head') readHead(next);
          else if (state === 'chunk line') readChunkLine(next);
          else if (next === '\r\n' || next === '\n') state = 'complete';
        }
      }
    },
    isComplete: () => state === 'complete',
    isPaused: () => paused,
    resume: () => {
      paused = false;
    },
    stop: () => {
      state = 'given up';
    },
    mayStay: () => keeps,
    endsWithConnection: () => state === 'open end',
  };
}
