import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import sonicBoom from 'sonic-boom';
import type { Clock } from '../base/clock.ts';
import { limits } from './limits.ts';
import { errorFacts, type Logger } from '../base/log.ts';
import { counter } from '../base/metrics.ts';

/** One answered (or abandoned) request. Bytes are body bytes on the wire; `path` is as sent, without the query. */
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

/** The line of a record (contract: HTTP access log line), with its newline; `timeMs` in Unix milliseconds. */
export function accessLine(record: AccessRecord, timestamp: string): string {
  return (
    `{"timestamp":"${timestamp}","status":${record.status},"latency":"${record.latencyMs.toFixed(3)}ms",` +
    `"method":${quoted(record.method)},"path":${quoted(record.path)},"ip":${quoted(record.ip)},` +
    `"port":${quoted(record.port)},"bytesSent":${record.bytesSent},"bytesReceived":${record.bytesReceived}}\n`
  );
}

const batchCharactersMax = 64 * 1024;

export interface AccessLogOptions {
  /** A file descriptor (1 = standard output) or the path of a file to append to. */
  readonly destination: number | string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The access log. Lines are gathered for at most limits.accessLogFlushMs and written asynchronously; a reader that
 * stalls or a closed pipe costs lines beyond limits.accessLogBufferedBytesMax, never a request or the process.
 */
export class AccessLog {
  readonly #clock: Clock;
  readonly #sink: sonicBoom.SonicBoom;
  #batch = '';
  #batchLines = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #lastMs = -1;
  #lastTimestamp = '';

  constructor({ destination, clock, log }: AccessLogOptions) {
    this.#clock = clock;
    const maxLength = limits.accessLogBufferedBytesMax;
    this.#sink = new sonicBoom.SonicBoom({ fd: destination, sync: false, maxLength });
    const lines = counter('auditlog_access_log_dropped_lines_total', 'Access-log lines not written', []);
    this.#sink.on('drop', () => {
      this.#dropped += this.#batchLines;
      lines.inc(this.#batchLines);
    });
    let failing = false;
    this.#sink.on('error', (error: unknown) => {
      if (!failing) log.warn(errorFacts(error), 'the access log cannot be written');
      failing = true;
    });
    this.#sink.on('write', () => {
      failing = false;
    });
  }

  /** Never waits and never throws: where lines cannot be written they are dropped and counted. */
  write(record: AccessRecord): void {
    this.#batch += accessLine(record, this.#timestamp());
    this.#batchLines++;
    if (this.#batch.length >= batchCharactersMax) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), limits.accessLogFlushMs).unref();
  }

  /** Lines dropped so far because the reader of the log is too slow or gone. */
  dropped(): number {
    return this.#dropped;
  }

  /** Writes what is held, within limits.accessLogCloseMsMax. */
  async close(): Promise<void> {
    this.#flush();
    // Rejects with an error of the sink, which is logged above.
    const closed = once(this.#sink, 'close').catch(() => {});
    this.#sink.end();
    await Promise.race([closed, sleep(limits.accessLogCloseMsMax, undefined, { ref: false })]);
    this.#sink.destroy();
  }

  /** Made once for all lines of a millisecond: it would cost more than the rest of the line. */
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
    if (this.#batch !== '') this.#sink.write(this.#batch);
    this.#batch = '';
    this.#batchLines = 0;
  }
}
