import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AuditlogError } from '../../client/client.ts';
import type { ForwardedEvent } from './batch.ts';
import { severityOf } from './severity.ts';
import type { Delivery, Sink } from './sink.ts';
import { SyslogConnection } from './syslog-connection.ts';

export interface SyslogSinkOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** Certificates to trust instead of the system's, PEM. */
  readonly ca: string | undefined;
  readonly hostname: string;
  readonly timeoutMs: number;
}

/** Facility "log audit" (RFC 5424, 6.2.1). */
const facility = 13;
/** Syslog severities of OCSF severities, Unknown to Fatal. */
const severities = [6, 6, 5, 4, 3, 2, 1] as const;

/**
 * Syslog (RFC 5424) over TCP or TLS, with octet counting (RFC 6587, RFC 5425). The protocol has no
 * acknowledgements, so each batch has its own connection (`SyslogConnection`).
 */
export class SyslogSink implements Sink {
  readonly #options: SyslogSinkOptions;

  constructor(options: SyslogSinkOptions) {
    this.#options = options;
  }

  async deliver(events: readonly ForwardedEvent[], { cut }: Delivery) {
    const frames = Buffer.concat(events.map((event) => makeFrame(event, this.#options.hostname)));
    await this.#send(frames, cut);
    return { rejected: 0 };
  }

  async #send(frames: Buffer, cut: AbortSignal): Promise<void> {
    const { host, port, timeoutMs } = this.#options;
    const ending = new AbortController();
    const late = setTimeout(
      () => ending.abort(new AuditlogError('timeout', `the receiver did not close within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const abort = (): void => ending.abort(new AuditlogError('aborted', 'aborted by the caller'));
    cut.addEventListener('abort', abort, { once: true });
    if (cut.aborted) abort();
    const socket = this.#connect();
    try {
      await new SyslogConnection(socket, `${host}:${port}`, ending.signal).deliver(frames);
    } finally {
      clearTimeout(late);
      cut.removeEventListener('abort', abort);
      socket.destroy();
      ending.abort(new AuditlogError('aborted', 'the delivery has ended'));
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

/** `<octets> <priority>1 <time> <host> auditlog - <activity> - <event>`. */
function makeFrame(event: ForwardedEvent, hostname: string): Buffer {
  const priority = facility * 8 + (severities[severityOf(event)] ?? 6);
  const micros = String(event.time % 1_000_000).padStart(6, '0');
  const second = new Date(Math.floor(event.time / 1_000_000) * 1000).toISOString().slice(0, 19);
  const text = Buffer.from(`<${priority}>1 ${second}.${micros}Z ${hostname} auditlog - - - ${event.text}`);
  return Buffer.concat([Buffer.from(`${text.length} `), text]);
}
