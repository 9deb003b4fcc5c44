import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits as baseLimits } from '../base/limits.ts';
import { limits } from './limits.ts';
import type { ImportChunk } from './import-source.ts';

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
  /** The key has just been made: a server that does not know it yet will, in a moment. */
  readonly keyIsNew: boolean;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs: number;
}

interface BatchAnswer {
  readonly accepted?: unknown;
  readonly rejected?: unknown;
  readonly errors?: readonly { readonly index: number; readonly error: string }[];
  readonly detail?: unknown;
}

/** The server will not take this whatever is tried; the message says what to do. */
class RefusedError extends Error {}

type Lines = Pick<ImportChunk, 'lines' | 'numbers'>;

/**
 * Sends chunks to the write endpoint, each under a key made of the source, its place and its content: sent again, by
 * this process or by another, it is stored once. Waits and tries again where that may help, for as long as
 * `importRetryMsMax`.
 */
export function createSender(target: ImportTarget, source: string, signal: AbortSignal) {
  const begun = performance.now();

  async function post(body: Buffer, idempotencyKey: string): Promise<Answer> {
    const answer = await fetch(`${target.url}/api/v1/audit?maxErrors=${baseLimits.rejectedErrorsAskedMax}`, {
      method: 'POST',
      headers: {
        'X-API-Key': target.key,
        'Content-Type': 'application/x-ndjson',
        'Idempotency-Key': idempotencyKey,
      },
      body,
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(limits.importRequestMsMax)]),
    });
    const seconds = Number(answer.headers.get('retry-after') ?? 'none');
    const retryAfterMs = Number.isFinite(seconds)
      ? Math.min(seconds * 1000, limits.importRetryDelayMsMax)
      : 0;
    return { status: answer.status, text: await answer.text(), retryAfterMs };
  }

  /** The first answer that is final. */
  async function insist(body: Buffer, key: string): Promise<Answer> {
    const deadline = performance.now() + limits.importRetryMsMax;
    for (let attempt = 0; ; attempt++) {
      let why: string;
      let waitMs = 0;
      try {
        const answer = await post(body, key);
        if (!mayWorkLater(answer.status)) return answer;
        why = `the server answers ${answer.status}: ${detailOf(answer.text)}`;
        waitMs = answer.retryAfterMs;
      } catch (error) {
        signal.throwIfAborted();
        why = `the server at ${target.url} does not answer: ${reasonOf(error)}`;
      }
      const mostMs = Math.min(limits.importRetryDelayMsMax, limits.importRetryDelayMsMin * 2 ** attempt);
      // Several wait for the same thing: they should not all come back at once.
      const delayMs = waitMs + Math.random() * mostMs;
      if (performance.now() + delayMs > deadline) throw new RefusedError(why);
      await sleep(delayMs, undefined, { signal });
    }
  }

  function mayWorkLater(status: number): boolean {
    if (status === 401) return target.keyIsNew && performance.now() - begun < limits.cliKeyKnownMsMax;
    return status === 409 || status === 429 || (status >= 500 && status !== 501);
  }

  async function sendLines(lines: Lines, offset: number): Promise<SentChunk> {
    if (lines.lines.length === 0) return { accepted: 0, rejected: [] };
    const body = Buffer.concat(lines.lines.flatMap((line) => [line, lineEnd]));
    const digest = createHash('sha256').update(`${source} ${offset} `).update(body).digest('base64url');
    const { status, text } = await insist(body, `import-${offset}-${digest}`);
    if (status === 413) return sendHalves(lines, offset);
    const answer = parse(text);
    const isBatch = Array.isArray(answer.errors) && typeof answer.rejected === 'number';
    if (status === 202 || (status === 400 && isBatch)) return outcomeOf(lines, answer);
    throw new RefusedError(`${refusals[status] ?? `the server answers ${status}`}: ${detailOf(text)}`);
  }

  /** What is too large together may fit in parts; each half has a key of its own. */
  async function sendHalves({ lines, numbers }: Lines, offset: number): Promise<SentChunk> {
    if (lines.length === 1) {
      const error = 'is larger than the server takes';
      return { accepted: 0, rejected: [{ line: numbers[0] ?? 0, error, bytes: lines[0] }] };
    }
    const middle = lines.length >> 1;
    const first = await sendLines(
      { lines: lines.slice(0, middle), numbers: numbers.slice(0, middle) },
      offset,
    );
    const second = await sendLines({ lines: lines.slice(middle), numbers: numbers.slice(middle) }, offset);
    return { accepted: first.accepted + second.accepted, rejected: [...first.rejected, ...second.rejected] };
  }

  return async (chunk: ImportChunk): Promise<SentChunk> => {
    const { accepted, rejected } = await sendLines(chunk, chunk.offset);
    const error = `is longer than ${limits.importLineBytesMax} bytes`;
    const tooLong = chunk.tooLong.map((line) => ({ line, error, bytes: undefined }));
    return { accepted, rejected: [...rejected, ...tooLong].sort((a, b) => a.line - b.line) };
  };
}

const lineEnd = Buffer.from('\n');

const refusals: Readonly<Record<number, string>> = {
  401: 'the API key is not accepted',
  403: 'the API key may not write',
  404: 'there is no audit log service at this address',
  422: 'the file has changed since this part of it was sent',
};

function outcomeOf({ lines, numbers }: Lines, answer: BatchAnswer): SentChunk {
  const rejected: RejectedLine[] = (answer.errors ?? []).map(({ index, error }) => ({
    line: numbers[index] ?? 0,
    error,
    bytes: lines[index],
  }));
  const accepted = Number(answer.accepted ?? 0);
  const missing = lines.length - accepted - rejected.length;
  if (missing > 0) {
    // A server that does not know `maxErrors`.
    const range = `${(rejected.at(-1)?.line ?? 0) + 1} to ${numbers.at(-1)}`;
    const error = `${missing} more of the lines ${range} were rejected; the server did not say which`;
    rejected.push({ line: numbers.at(-1) ?? 0, error, bytes: undefined });
  }
  return { accepted, rejected };
}

function parse(text: string): BatchAnswer {
  try {
    return JSON.parse(text) as BatchAnswer;
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

function detailOf(text: string): string {
  const { detail } = parse(text);
  return typeof detail === 'string' ? detail : 'without a word of explanation';
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}
