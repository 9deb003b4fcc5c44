import type { Clock } from '../base/time/clock.ts';
import { LineSink } from '../base/files/line-sink.ts';
import type { Logger } from '../base/observability/log.ts';
import { limits } from './limits.ts';

const accessLogFlushMs = 100;
const accessLogCloseMsMax = 2_000;

/** Bytes on the wire; `path` is as sent, without the query. */
export interface AccessRecord {
  readonly status: number;
  readonly latencyMs: number;
  readonly method: string;
  readonly path: string;
  readonly ip: string;
  readonly port: string;
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

const plain = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/;

const quoted = (text: string): string => (plain.test(text) ? `"${text}"` : JSON.stringify(text));

/** (contract: HTTP access log line); `timeMs` in Unix milliseconds. */
export function accessLine(record: AccessRecord, timestamp: string): string {
  return (
    `{"timestamp":"${timestamp}","status":${record.status},"latency":"${record.latencyMs.toFixed(3)}ms",` +
    `"method":${quoted(record.method)},"path":${quoted(record.path)},"ip":${quoted(record.ip)},` +
    `"port":${quoted(record.port)},"bytesSent":${record.bytesSent},"bytesReceived":${record.bytesReceived}}\n`
  );
}

const batchCharactersMax = 64 * 1024;

export interface AccessLogOptions {
  /** A file descriptor (1 = standard output) or a path to append to. */
  readonly destination: number | string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Buffers lines for accessLogFlushMs. A stalled reader or a closed pipe costs lines beyond
 * limits.accessLogBufferedBytesMax, never a request.
 */
export class AccessLog {
  readonly #clock: Clock;
  readonly #sink: LineSink;
  #batch = '';
  #timer: NodeJS.Timeout | undefined;
  #lastMs = -1;
  #lastTimestamp = '';

  constructor({ destination, clock, log }: AccessLogOptions) {
    this.#clock = clock;
    this.#sink = new LineSink({ destination, bufferedBytesMax: limits.accessLogBufferedBytesMax, log });
  }

  write(record: AccessRecord): void {
    this.#batch += accessLine(record, this.#timestamp());
    if (this.#batch.length >= batchCharactersMax) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), accessLogFlushMs).unref();
  }

  dropped(): number {
    return this.#sink.dropped();
  }

  close(): Promise<void> {
    this.#flush();
    return this.#sink.close(accessLogCloseMsMax);
  }

  /** Cached for each millisecond: formatting costs more than the rest of the line. */
  #timestamp(): string {
    const ms = Math.floor(this.#clock() / 1000);
    if (ms !== this.#lastMs) {
      this.#lastMs = ms;
      this.#lastTimestamp = new Date(ms).toISOString();
    }
    return this.#lastTimestamp;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#batch !== '') this.#sink.write(Buffer.from(this.#batch));
    this.#batch = '';
  }
}
