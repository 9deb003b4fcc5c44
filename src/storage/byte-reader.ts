import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { limits } from './limits.ts';

const engineHeadLinesMax = 200;

/** `head`, any number of `data`, then `end`; or at any point `failed`. */
export interface Receiver {
  head(status: number, headers: ReadonlyMap<string, string>): void;
  /**
   * Bytes are valid only during the call. Return false to pause until `resume()`; bytes already read still
   * come.
   */
  data(piece: Uint8Array): boolean;
  end(): void;
  failed(error: Error): void;
}

export interface Call {
  resume(): void;
  /** Abandons the call; the receiver is not called again. */
  destroy(): void;
}

/**
 * Takes a fifth of the processor time of Node's streams (bench: `micro.reader`). One connection per call, whose number src/read
 * bounds; keeps idle ones for `engineIdleConnectionMs`.
 */
export class ByteReader {
  readonly #url: URL;
  readonly #fixedHead: string;
  readonly #idle: Connection[] = [];
  #isClosed = false;

  constructor(url: URL, headers: Readonly<Record<string, string>>) {
    this.#url = url;
    this.#fixedHead = Object.entries({ Host: url.host, 'User-Agent': 'auditlog', ...headers })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
  }

  post(target: string, body: string, receiver: Receiver): Call {
    const length = `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
    return this.#connection().start(
      `POST ${target} HTTP/1.1\r\n${this.#fixedHead}${length}${body}`,
      receiver,
    );
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#idle) connection.destroy();
  }

  #connection(): Connection {
    // The last used one, so that the others can age and close.
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isUsable()) return idle;
      idle.destroy();
    }
    return new Connection(this.#url, (free) => {
      if (this.#isClosed) free.destroy();
      else this.#idle.push(free);
    });
  }
}

class Connection {
  readonly #socket: Socket;
  readonly #release: (connection: Connection) => void;
  #parser: AnswerParser | undefined;
  #error: Error | undefined;
  #usedAt = performance.now();

  constructor(url: URL, release: (connection: Connection) => void) {
    this.#release = release;
    this.#socket = openSocket(url, (bytes) => this.#take(bytes));
    this.#socket.setTimeout(limits.engineIdleConnectionMs, () => {
      if (this.#parser === undefined) this.#socket.destroy();
    });
    this.#socket.on('error', (error) => {
      this.#error ??= error;
    });
    this.#socket.on('end', () => {
      if (this.#parser?.endsWithConnection === true) this.#finish(this.#parser);
    });
    this.#socket.on('close', () => {
      const error = this.#error ?? new Error('The connection closed before the end of the answer');
      this.#forgetCall()?.receiver.failed(error);
    });
  }

  /**
   * False when the engine may be closing the connection: engines keep idle ones for 3 s at least. The socket's own timer may be
   * late.
   */
  isUsable(): boolean {
    return !this.#socket.destroyed && performance.now() - this.#usedAt < limits.engineIdleConnectionMs;
  }

  start(request: string, receiver: Receiver): Call {
    const parser = new AnswerParser(receiver);
    this.#parser = parser;
    this.#socket.write(request);
    return {
      resume: () => {
        if (this.#parser !== parser) return;
        parser.isPaused = false;
        this.#socket.resume();
      },
      destroy: () => {
        if (this.#parser === parser) this.destroy();
      },
    };
  }

  destroy(): void {
    this.#forgetCall()?.stop();
    this.#socket.destroy();
  }

  #forgetCall(): AnswerParser | undefined {
    const parser = this.#parser;
    this.#parser = undefined;
    return parser;
  }

  #take(bytes: Uint8Array): boolean {
    const parser = this.#parser;
    try {
      if (parser === undefined) throw new Error('Unexpected bytes after the answer');
      parser.take(bytes);
    } catch (error) {
      this.#error = error instanceof Error ? error : new Error(String(error));
      this.#socket.destroy();
      return false;
    }
    if (this.#parser !== parser) return true;
    if (!parser.isComplete) return !parser.isPaused;
    this.#finish(parser);
    return true;
  }

  #finish({ keepsConnection, receiver }: AnswerParser): void {
    this.#forgetCall();
    this.#usedAt = performance.now();
    receiver.end();
    const isReusable = keepsConnection && this.#socket.writableLength === 0 && !this.#socket.destroyed;
    if (isReusable) this.#release(this);
    else this.#socket.destroy();
  }
}

/**
 * For all sockets; consumed before the next read. Allocating one per read makes the collector run for a third of a page's time.
 */
const received = Buffer.allocUnsafeSlow(limits.engineReadBytes);

function openSocket(url: URL, take: (bytes: Uint8Array) => boolean): Socket {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const onread = {
    buffer: received,
    callback: (bytes: number, buffer: Uint8Array) => take(buffer.subarray(0, bytes)),
  };
  if (url.protocol !== 'https:') {
    return connect({ host, port: Number(url.port || 80), onread, noDelay: true });
  }
  const options = { host, port: Number(url.port || 443), onread };
  return connectTls(isIP(host) === 0 ? { ...options, servername: host } : options).setNoDelay(true);
}

const lineFeed = 10;

/**
 * head ─▶ body(n bytes) ─────────────────────▶ complete
 *       ─▶ chunk line ⇄ body(n bytes), chunk end ─▶ trailer ─▶ complete
 *       ─▶ body, until the connection ends
 */
class AnswerParser {
  readonly receiver: Receiver;
  isPaused = false;
  keepsConnection = false;
  #step: 'head' | 'body' | 'chunk line' | 'chunk end' | 'trailer' | 'complete' | 'stopped' = 'head';
  #line = '';
  #headLines: string[] = [];
  #isChunked = false;
  #left = 0;

  constructor(receiver: Receiver) {
    this.receiver = receiver;
  }

  get isComplete(): boolean {
    return this.#step === 'complete';
  }

  get endsWithConnection(): boolean {
    return this.#step === 'body' && this.#left === Number.POSITIVE_INFINITY;
  }

  stop(): void {
    this.#step = 'stopped';
  }

  take(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && this.#step !== 'stopped'; ) {
      if (this.#step === 'complete') throw new Error('Unexpected bytes after the answer');
      at = this.#step === 'body' ? this.#takeBody(bytes, at) : this.#takeLine(bytes, at);
    }
  }

  #takeBody(bytes: Uint8Array, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#step = this.#isChunked ? 'chunk end' : 'complete';
    if (!this.receiver.data(bytes.subarray(at, end))) this.isPaused = true;
    return end;
  }

  #takeLine(bytes: Uint8Array, at: number): number {
    const found = bytes.indexOf(lineFeed, at);
    const end = found === -1 ? bytes.length : found + 1;
    this.#line += Buffer.from(bytes.buffer, bytes.byteOffset + at, end - at).toString('latin1');
    if (this.#line.length > limits.engineHeadBytesMax) throw new Error('The head of the answer is too large');
    if (found !== -1) {
      const line = this.#line.trimEnd();
      this.#line = '';
      this.#readLine(line);
    }
    return end;
  }

  #readLine(line: string): void {
    if (this.#step === 'head') {
      if (line === '') return this.#readHead();
      this.#headLines.push(line);
      if (this.#headLines.length > engineHeadLinesMax) throw new Error('The head of the answer is too large');
    } else if (this.#step === 'chunk line') {
      const digits = /^[0-9a-f]{1,12}(?=[;\s]|$)/i.exec(line)?.[0];
      if (digits === undefined) throw new Error('A chunk of the answer has no length');
      this.#left = Number.parseInt(digits, 16);
      this.#step = this.#left === 0 ? 'trailer' : 'body';
    } else if (this.#step === 'chunk end') {
      if (line !== '') throw new Error('A chunk of the answer exceeds its length');
      this.#step = 'chunk line';
    } else if (line === '') this.#step = 'complete';
  }

  #readHead(): void {
    const [first = '', ...lines] = this.#headLines;
    this.#headLines = [];
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1]);
    if (!Number.isInteger(status)) throw new Error('The answer is not HTTP/1');
    if (status < 200) return;
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(':');
      if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    this.#expectBody(status, headers);
    const isKept = first.startsWith('HTTP/1.1') && headers.get('connection')?.toLowerCase() !== 'close';
    this.keepsConnection = isKept && !this.endsWithConnection;
    this.receiver.head(status, headers);
  }

  #expectBody(status: number, headers: ReadonlyMap<string, string>): void {
    const length = headers.get('content-length');
    this.#isChunked = /\bchunked\b/i.test(headers.get('transfer-encoding') ?? '');
    if (this.#isChunked) this.#step = 'chunk line';
    else if (length !== undefined) {
      if (!/^\d+$/.test(length)) throw new Error('The Content-Length of the answer is not a number');
      this.#left = Number(length);
      this.#step = this.#left === 0 ? 'complete' : 'body';
    } else if (status === 204) this.#step = 'complete';
    else {
      this.#left = Number.POSITIVE_INFINITY;
      this.#step = 'body';
    }
  }
}
