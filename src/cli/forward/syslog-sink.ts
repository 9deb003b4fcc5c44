import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AuditlogError } from '../../client/client.ts';
import { errorCode } from '../../base/system-error.ts';
import type { ForwardedEvent } from './batch.ts';
import { severityOf } from './severity.ts';
import type { Delivery, Sink } from './sink.ts';

export interface SyslogSinkOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Certificates to trust in place of the system's, PEM. */
  readonly ca: string | undefined;
  /** What the events name as their origin. */
  readonly hostname: string;
  readonly timeoutMs: number;
}

/** Facility "log audit" (RFC 5424, 6.2.1). */
const facility = 13;
/** Severities of OCSF, from Unknown to Fatal, as those of syslog. */
const severities = [6, 6, 5, 4, 3, 2, 1] as const;

/**
 * Sends events as syslog (RFC 5424) over TCP or TLS, by octet counting (RFC 6587, RFC 5425). The protocol has no
 * acknowledgement. So each batch has a connection, which this side ends first and the receiver closes when it has read to
 * the end: that is what counts as delivered. A connection that breaks is a batch to send again.
 */
export class SyslogSink implements Sink {
  readonly #options: SyslogSinkOptions;

  constructor(options: SyslogSinkOptions) {
    this.#options = options;
  }

  async deliver(events: readonly ForwardedEvent[], { cut }: Delivery) {
    const frames = Buffer.concat(events.map((event) => frameOf(event, this.#options.hostname)));
    await this.#send(frames, cut);
    return { rejected: 0 };
  }

  async #send(frames: Buffer, cut: AbortSignal): Promise<void> {
    const { timeoutMs } = this.#options;
    const socket = this.#connect();
    const late = setTimeout(
      () => socket.destroy(new AuditlogError('timeout', `the receiver did not close within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const abort = (): void => void socket.destroy(new AuditlogError('aborted', 'aborted by the caller'));
    cut.addEventListener('abort', abort, { once: true });
    if (cut.aborted) abort();
    try {
      await untilClosed(socket, frames);
    } finally {
      clearTimeout(late);
      cut.removeEventListener('abort', abort);
      socket.destroy();
    }
  }

  #connect(): Socket {
    const { host, port, tls, ca } = this.#options;
    if (!tls) return connect({ host, port });
    return connectTls({
      host,
      port,
      servername: /^[\d.]+$|:/.test(host) ? '' : host,
      ...(ca !== undefined && { ca }),
    });
  }
}

/** Writes all, ends, and resolves once the other side has ended as well, without an error. */
function untilClosed(socket: Socket, frames: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let isEnded = false;
    let isSent = false;
    socket.once('error', (error: unknown) => {
      if (error instanceof AuditlogError) return reject(error);
      const code = errorCode(error) ?? 'the connection failed';
      reject(new AuditlogError('network', `no delivery: ${code}`, { cause: error }));
    });
    socket.once('end', () => {
      isEnded = true;
    });
    socket.once('finish', () => {
      isSent = true;
    });
    socket.once('close', () => {
      if (isEnded && isSent) resolve();
      else reject(new AuditlogError('network', 'no delivery: the connection was closed early'));
    });
    // What a receiver says is of no use, and must be read for the end to be seen.
    socket.resume();
    socket.end(frames);
  });
}

/** `<octets> <priority>1 <time> <host> auditlog - <activity> - <event>`. */
function frameOf(event: ForwardedEvent, hostname: string): Buffer {
  const priority = facility * 8 + (severities[severityOf(event)] ?? 6);
  const micros = String(event.time % 1_000_000).padStart(6, '0');
  const second = new Date(Math.floor(event.time / 1_000_000) * 1000).toISOString().slice(0, 19);
  const text = Buffer.from(`<${priority}>1 ${second}.${micros}Z ${hostname} auditlog - - - ${event.text}`);
  return Buffer.concat([Buffer.from(`${text.length} `), text]);
}
