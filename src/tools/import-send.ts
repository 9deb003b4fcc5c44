import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { faultText } from '../base/errors/fault.ts';
import { limits as baseLimits } from '../base/limits.ts';
import { AuditlogError } from '../client/client.ts';
import { type RetryHooks, retryPolicy } from '../client/retry.ts';
import { type BatchRoute, sendBatch } from '../client/send-batch.ts';
import { baseUrl } from '../client/transport.ts';
import type { MappedRecord, Mapping } from '../adapters/mapping.ts';
import { byteWindow } from '../ocsf/byte-text.ts';
import type { ImportChunk } from './import-chunks.ts';
import type { ImportedIds } from './import-ids.ts';
import { limits } from './limits.ts';
import { isUntrusted } from './trusted-fetch.ts';

const cliKeyKnownMsMax = 10_000;
const importRequestMsMax = 120_000;

export interface RejectedLine {
  readonly line: number;
  readonly error: string;
  /** Undefined if the line is too long. */
  readonly bytes: Buffer | undefined;
}

export interface SentChunk {
  readonly accepted: number;
  readonly rejected: readonly RejectedLine[];
  readonly repeated: number;
  readonly digests: readonly string[];
}

type Sent = Pick<SentChunk, 'accepted' | 'rejected'>;

export interface ImportTarget {
  /** Without a trailing slash. */
  readonly url: string;
  readonly key: string;
  /** Trusts the server by its options. */
  readonly fetch?: typeof fetch;
  /** The target for the operator, the same in each run. */
  readonly name: string;
  /** A running server may not know the key yet. */
  readonly keyIsNew: boolean;
}

interface Entry {
  readonly line: number;
  readonly original: Buffer;
  readonly event: Buffer;
}

const lineEnd = Buffer.from('\n');

/**
 * Sends chunks with an idempotency key made of source, offset and content, so that each is stored once.
 * Retries for `importRetryMsMax`.
 */
export class ImportSender {
  readonly #target: ImportTarget;
  readonly #source: string;
  readonly #route: BatchRoute;
  readonly #mapping: Mapping | undefined;
  readonly #ids: ImportedIds | undefined;

  /** `ids` detects repeated records of a mapping. */
  constructor(
    target: ImportTarget,
    source: string,
    { signal, onRetry }: Pick<RetryHooks, 'signal' | 'onRetry'>,
    { mapping, ids }: { readonly mapping: Mapping | undefined; readonly ids: ImportedIds | undefined },
  ) {
    this.#target = target;
    this.#source = source;
    this.#mapping = mapping;
    this.#ids = ids;
    const keyIsKnownMs = performance.now() + (target.keyIsNew ? cliKeyKnownMsMax : 0);
    const mayPass = ({ status }: AuditlogError): boolean =>
      status === 401 && performance.now() < keyIsKnownMs;
    this.#route = {
      base: baseUrl(target.url),
      headers: { 'x-api-key': target.key },
      timeoutMs: importRequestMsMax,
      fetch: target.fetch,
      retry: retryPolicy({}, limits.importRetryMsMax),
      hooks: { signal, onRetry, mayPass, isFinal: isUntrusted },
      maxErrors: baseLimits.rejectedErrorsAskedMax,
    };
  }

  async send(chunk: ImportChunk): Promise<SentChunk> {
    const { entries, unmapped, repeated, digests } = this.#mapEntries(chunk);
    const { accepted, rejected } = await this.#sendEntries(entries, chunk.offset);
    for (const { line } of rejected) digests.delete(line);
    const error = `is longer than ${limits.importLineBytesMax} bytes`;
    const tooLong = chunk.tooLong.map((line) => ({ line, error, bytes: undefined }));
    const all = [...rejected, ...unmapped, ...tooLong].sort((a, b) => a.line - b.line);
    return { accepted, rejected: all, repeated, digests: [...digests.values()] };
  }

  #mapEntries({ lines, numbers }: ImportChunk): {
    readonly entries: readonly Entry[];
    readonly unmapped: readonly RejectedLine[];
    readonly repeated: number;
    readonly digests: Map<number, string>;
  } {
    const entries: Entry[] = [];
    const unmapped: RejectedLine[] = [];
    const digests = new Map<number, string>();
    let repeated = 0;
    for (const [index, original] of lines.entries()) {
      const line = numbers[index] ?? 0;
      const mapped = this.#mapping && mapLine(this.#mapping, original);
      if (mapped === undefined) entries.push({ line, original, event: original });
      else if (typeof mapped === 'string') unmapped.push({ line, error: mapped, bytes: original });
      else if (this.#isRepeat(mapped, line, digests)) repeated++;
      else for (const event of mapped.events) entries.push({ line, original, event: Buffer.from(event) });
    }
    return { entries, unmapped, repeated, digests };
  }

  #isRepeat({ id }: MappedRecord, line: number, digests: Map<number, string>): boolean {
    if (id === undefined || this.#ids === undefined) return false;
    const digest = this.#ids.take(id);
    if (digest !== undefined) digests.set(line, digest);
    return digest === undefined;
  }

  async #sendEntries(entries: readonly Entry[], offset: number): Promise<Sent> {
    if (entries.length === 0) return { accepted: 0, rejected: [] };
    const body = Buffer.concat(entries.flatMap(({ event }) => [event, lineEnd]));
    const digest = createHash('sha256').update(`${this.#source} ${offset} `).update(body).digest('base64url');
    const idempotencyKey = `import-${offset}-${digest}`;
    try {
      const answer = await sendBatch(this.#route, { body, events: entries.length, idempotencyKey });
      const rejected: RejectedLine[] = answer.errors.map(({ index, error }) => ({
        line: entries[index]?.line ?? 0,
        error: this.#mapping === undefined ? error : asMapped(error, this.#mapping),
        bytes: entries[index]?.original,
      }));
      // A server that ignores `maxErrors` names the first hundred.
      const unnamed = answer.rejected - rejected.length;
      const error = `${unnamed} more lines up to this one were rejected; the server did not name them`;
      if (unnamed > 0) rejected.push({ line: entries.at(-1)?.line ?? 0, error, bytes: undefined });
      return { accepted: answer.accepted, rejected };
    } catch (error) {
      if (!(error instanceof AuditlogError && error.status === 413)) throw this.#explained(error);
      return this.#sendHalves(entries, offset);
    }
  }

  async #sendHalves(entries: readonly Entry[], offset: number): Promise<Sent> {
    const [first] = entries;
    if (first !== undefined && entries.length === 1) {
      const error = 'is larger than the server accepts';
      return { accepted: 0, rejected: [{ line: first.line, error, bytes: first.original }] };
    }
    const middle = entries.length >> 1;
    const low = await this.#sendEntries(entries.slice(0, middle), offset);
    const high = await this.#sendEntries(entries.slice(middle), offset);
    return { accepted: low.accepted + high.accepted, rejected: [...low.rejected, ...high.rejected] };
  }

  #explained(error: unknown): unknown {
    if (!(error instanceof AuditlogError) || error.code === 'aborted') return error;
    const { status, detail = 'without an explanation', cause } = error;
    if (status !== undefined)
      return new Error(`${refusals[status] ?? `the server answers ${status}`}: ${detail}`, { cause });
    const why = cause instanceof Error && cause.message !== '' ? cause.message : error.message;
    const what = isUntrusted(error)
      ? 'cannot be trusted, or does not trust us (--ca, --cert)'
      : 'does not answer';
    return new Error(`the server at ${this.#target.url} ${what}: ${why}`, { cause });
  }
}

export function mapLine(mapping: Mapping, line: Buffer): MappedRecord | string {
  if (!isUtf8(line)) return faultText('record', '', 'is not valid UTF-8');
  return mapping.map(byteWindow(line), 0, line.length);
}

export const asMapped = (error: string, { name }: Mapping): string => `${error} (as mapped from ${name})`;

const refusals: Readonly<Record<number, string>> = {
  401: 'the API key is not accepted',
  403: 'the API key may not write',
  404: 'there is no audit log service at this address',
  422: 'the file has changed since this part was sent',
};
