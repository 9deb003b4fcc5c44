import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { AwsV4Signer } from 'aws4fetch';
import { request } from '../../client/transport.ts';
import type { ForwardedEvent } from './batch.ts';
import { type FormatName, formatEvents } from './formats.ts';
import { type Delivery, type Sink, withoutBody } from './sink.ts';

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface S3SinkOptions {
  readonly bucket: string;
  /** Before the names of objects; '' or ending in a slash. */
  readonly prefix: string;
  /** Of a service that is compatible with S3; undefined: AWS. */
  readonly endpoint: URL | undefined;
  readonly region: string;
  readonly credentials: S3Credentials;
  readonly format: FormatName;
  readonly gzip: boolean;
  readonly timeoutMs: number;
}

const compress = promisify(gzip);

/**
 * Puts each batch as an object of its own. Its name has the time and the id of its first event, and both are the same
 * when the batch is delivered again: that replaces the object by one with the same events at least.
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
    const signed = await this.#signed(this.#urlOf(first), body);
    const headers = Object.fromEntries(signed.headers);
    try {
      await request({ method: 'PUT', url: signed.url, headers, body, timeoutMs, signal: cut });
    } catch (error) {
      throw withoutBody(error);
    }
    return { rejected: 0 };
  }

  #signed(url: URL, body: Buffer): ReturnType<AwsV4Signer['sign']> {
    const { region, credentials, gzip: zipped } = this.#options;
    const headers = {
      'content-type': zipped ? 'application/gzip' : 'application/x-ndjson',
      // Signed with the rest: the service refuses what changed on the way.
      'x-amz-content-sha256': createHash('sha256').update(body).digest('hex'),
    };
    const signer = new AwsV4Signer({
      method: 'PUT',
      url: url.href,
      headers,
      ...credentials,
      service: 's3',
      region,
    });
    return signer.sign();
  }

  #urlOf(first: ForwardedEvent): URL {
    const { bucket, prefix, endpoint, region, gzip: zipped } = this.#options;
    const day = new Date(first.time / 1000).toISOString().slice(0, 10).replaceAll('-', '/');
    const name = `${prefix}${day}/${first.time}-${first.id()}.ndjson${zipped ? '.gz' : ''}`;
    const path = name.split('/').map(encodeURIComponent).join('/');
    // A bucket with a dot has no certificate as a host, and services of one's own seldom have names for buckets.
    if (endpoint !== undefined) return new URL(`${endpoint.href.replace(/\/$/, '')}/${bucket}/${path}`);
    if (bucket.includes('.')) return new URL(`https://s3.${region}.amazonaws.com/${bucket}/${path}`);
    return new URL(`https://${bucket}.s3.${region}.amazonaws.com/${path}`);
  }
}
