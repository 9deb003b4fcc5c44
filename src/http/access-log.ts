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

export interface AccessLog {
  /** Never waits and never throws: where lines cannot be written they are dropped and counted. */
  write(record: AccessRecord): void;
  /** Lines dropped so far because the reader of the log is too slow or gone. */
  dropped(): number;
  /** Writes what is held, within limits.accessLogCloseMsMax. */
  close(): Promise<void>;
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

/** ISO text of an instant; the last one is kept, since many lines share a millisecond. */
function createTimestamps(clock: Clock): () => string {
  let lastMs = -1;
  let text = '';
  return () => {
    const ms = Math.floor(clock() / 1000);
    if (ms !== lastMs) {
      lastMs = ms;
      text = new Date(ms).toISOString();
    }
    return text;
  };
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
export function createAccessLog({ destination, clock, log }: AccessLogOptions): AccessLog {
  const sink = new sonicBoom.SonicBoom({
    fd: destination,
    sync: false,
    maxLength: limits.accessLogBufferedBytesMax,
  });
  const droppedLines = counter('auditlog_access_log_dropped_lines_total', 'Access-log lines not written', []);
  const timestamp = createTimestamps(clock);
  let batch = '';
  let batchLines = 0;
  let dropped = 0;
  let failing = false;
  let timer: NodeJS.Timeout | undefined;

  sink.on('drop', () => {
    dropped += batchLines;
    droppedLines.inc(batchLines);
  });
  sink.on('error', (error: unknown) => {
    if (!failing) log.warn(errorFacts(error), 'the access log cannot be written');
    failing = true;
  });
  sink.on('write', () => {
    failing = false;
  });
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (batch !== '') sink.write(batch);
    batch = '';
    batchLines = 0;
  };
  return {
    write(record) {
      batch += accessLine(record, timestamp());
      batchLines++;
      if (batch.length >= batchCharactersMax) flush();
      else timer ??= setTimeout(flush, limits.accessLogFlushMs).unref();
    },
    dropped: () => dropped,
    close() {
      flush();
      return new Promise((resolve) => {
        const limit = setTimeout(() => {
          sink.destroy();
          resolve();
        }, limits.accessLogCloseMsMax);
        const done = (): void => {
          clearTimeout(limit);
          resolve();
        };
        sink.once('close', done);
        sink.once('error', done);
        sink.end();
      });
    },
  };
}
