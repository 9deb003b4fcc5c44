import { createHash } from 'node:crypto';
import { limits as baseLimits } from '../base/limits.ts';
import { AuditlogError } from '../client/client.ts';
import { retryPolicy } from '../client/retry.ts';
import { type BatchRoute, sendBatch } from '../client/send-batch.ts';
import { baseUrl } from '../client/transport.ts';
import type { ImportChunk } from './import-chunks.ts';
import { limits } from './limits.ts';

/** A line that is not an event of the service now, and why. */
export interface RejectedLine {
  readonly line: number;
  readonly error: string;
  /** Undefined for a line that is too long to be held. */
  readonly bytes: Buffer | undefined;
}

export interface SentChunk {
  readonly accepted: number;
  readonly rejected: readonly RejectedLine[];
}

export interface ImportTarget {
  /** Without a slash at the end. */
  readonly url: string;
  readonly key: string;
  /** The key has just been made, so a running server may not know it yet. */
  readonly keyIsNew: boolean;
}

type Lines = Pick<ImportChunk, 'lines' | 'numbers'>;

const lineEnd = Buffer.from('\n');

/**
 * Sends chunks to the write endpoint, each under an idempotency key made of the source, its offset and its content. So
 * the service stores it once, even if this process or another sends it again. Retries for `importRetryMsMax`.
 */
export class ImportSender {
  readonly #target: ImportTarget;
  readonly #source: string;
  readonly #route: BatchRoute;

  constructor(target: ImportTarget, source: string, signal: AbortSignal) {
    this.#target = target;
    this.#source = source;
    const keyIsKnownMs = performance.now() + (target.keyIsNew ? limits.cliKeyKnownMsMax : 0);
    const mayPass = ({ status }: AuditlogError): boolean =>
      status === 401 && performance.now() < keyIsKnownMs;
    this.#route = {
      base: baseUrl(target.url),
      headers: { 'x-api-key': target.key },
      timeoutMs: limits.importRequestMsMax,
      retry: retryPolicy({}, limits.importRetryMsMax),
      hooks: { signal, mayPass },
      maxErrors: baseLimits.rejectedErrorsAskedMax,
    };
  }

  async send(chunk: ImportChunk): Promise<SentChunk> {
    const { accepted, rejected } = await this.#sendLines(chunk, chunk.offset);
    const error = `is longer than ${limits.importLineBytesMax} bytes`;
    const tooLong = chunk.tooLong.map((line) => ({ line, error, bytes: undefined }));
    return { accepted, rejected: [...rejected, ...tooLong].sort((a, b) => a.line - b.line) };
  }

  async #sendLines({ lines, numbers }: Lines, offset: number): Promise<SentChunk> {
    if (lines.length === 0) return { accepted: 0, rejected: [] };
    const body = Buffer.concat(lines.flatMap((line) => [line, lineEnd]));
    const digest = createHash('sha256').update(`${this.#source} ${offset} `).update(body).digest('base64url');
    const idempotencyKey = `import-${offset}-${digest}`;
    try {
      const answer = await sendBatch(this.#route, { body, events: lines.length, idempotencyKey });
      const rejected: RejectedLine[] = answer.errors.map(({ index, error }) => ({
        line: numbers[index] ?? 0,
        error,
        bytes: lines[index],
      }));
      // A server that does not know `maxErrors` names the first hundred.
      const unnamed = answer.rejected - rejected.length;
      const error = `${unnamed} more lines up to this one were rejected; the server did not say which`;
      if (unnamed > 0) rejected.push({ line: numbers.at(-1) ?? 0, error, bytes: undefined });
      return { accepted: answer.accepted, rejected };
    } catch (error) {
      if (!(error instanceof AuditlogError && error.status === 413)) throw this.#explained(error);
      return this.#sendHalves({ lines, numbers }, offset);
    }
  }

  /** Sends the halves of a chunk that is too large, each under a key of its own. */
  async #sendHalves({ lines, numbers }: Lines, offset: number): Promise<SentChunk> {
    if (lines.length === 1) {
      const error = 'is larger than the server takes';
      return { accepted: 0, rejected: [{ line: numbers[0] ?? 0, error, bytes: lines[0] }] };
    }
    const middle = lines.length >> 1;
    const half = (from: number, to?: number): Promise<SentChunk> =>
      this.#sendLines({ lines: lines.slice(from, to), numbers: numbers.slice(from, to) }, offset);
    const first = await half(0, middle);
    const second = await half(middle);
    return { accepted: first.accepted + second.accepted, rejected: [...first.rejected, ...second.rejected] };
  }

  /** Words the client's error for an operator. */
  #explained(error: unknown): unknown {
    if (!(error instanceof AuditlogError) || error.code === 'aborted') return error;
    const { status, detail = 'without a word of explanation', cause } = error;
    if (status !== undefined)
      return new Error(`${refusals[status] ?? `the server answers ${status}`}: ${detail}`, { cause });
    const why = cause instanceof Error && cause.message !== '' ? cause.message : error.message;
    return new Error(`the server at ${this.#target.url} does not answer: ${why}`, { cause });
  }
}

const refusals: Readonly<Record<number, string>> = {
  401: 'the API key is not accepted',
  403: 'the API key may not write',
  404: 'there is no audit log service at this address',
  422: 'the file has changed since this part of it was sent',
};
