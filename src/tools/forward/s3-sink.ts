import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { request } from '../../client/transport.ts';
import { objectUrl, type S3Access, signed } from '../s3.ts';
import type { ForwardedEvent } from './batch.ts';
import { type FormatName, formatEvents } from './formats.ts';
import { type Delivery, type Sink, withoutBody } from './sink.ts';

export interface S3SinkOptions extends S3Access {
  readonly format: FormatName;
  readonly gzip: boolean;
  readonly timeoutMs: number;
}

const compress = promisify(gzip);

/**
 * Each batch is an object named after time and id of its first event, so a second delivery replaces the
 * first.
 */
export class S3Sink implements Sink {
  readonly #options: S3SinkOptions;

  constructor(options: S3SinkOptions) {
    this.#options = options;
  }

  async deliver(events: readonly ForwardedEvent[], { cut }: Delivery) {
    const [first] = events;
    if (first === undefined) return { rejected: 0 };
    const { format, gzip: zipped, timeoutMs } = this.#options;
    const plain = formatEvents(format, events);
    const body = zipped ? await compress(plain) : plain;
    const type = zipped ? 'application/gzip' : 'application/x-ndjson';
    const call = await signed(this.#options, 'PUT', this.#objectUrl(first), body, type);
    const headers = Object.fromEntries(call.headers);
    try {
      await request({ method: 'PUT', url: call.url, headers, body, timeoutMs, signal: cut });
    } catch (error) {
      throw withoutBody(error);
    }
    return { rejected: 0 };
  }

  #objectUrl(first: ForwardedEvent): URL {
    const day = new Date(first.time / 1000).toISOString().slice(0, 10).replaceAll('-', '/');
    const zipped = this.#options.gzip ? '.gz' : '';
    return objectUrl(this.#options, `${day}/${first.time}-${first.id()}.ndjson${zipped}`);
  }
}
