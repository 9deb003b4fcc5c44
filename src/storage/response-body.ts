import { Readable } from 'node:stream';
import { limits } from '../base/limits.ts';
import { EngineError } from './storage.ts';

/** Text of an engine's answer as it may stand in the operational log: one line, bounded. */
export function shortMessage(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > limits.engineErrorCharactersMax
    ? `${line.slice(0, limits.engineErrorCharactersMax)}…`
    : line;
}

/**
 * The exception that the engine wrote behind the rows it had already sent, or undefined.
 *
 *     rows … \r\n__exception__\r\n<tag>\r\nCode: 395. DB::Exception: …\n<length> <tag>\r\n__exception__\r\n
 *
 * The tag is random for each response and announced in a header, so rows cannot be taken for it.
 */
export function exceptionInTail(tail: Buffer, tag: string | undefined): EngineError | undefined {
  if (tag === undefined || tag === '') return undefined;
  const marker = `__exception__\r\n${tag}\r\n`;
  const at = tail.indexOf(marker);
  if (at === -1) return undefined;
  const text = tail.subarray(at + marker.length).toString('utf8');
  const code = /Code: (\d+)/.exec(text)?.[1];
  return new EngineError('refused', shortMessage(text), code === undefined ? undefined : Number(code));
}

export interface BodyOptions {
  /** Value of `X-ClickHouse-Exception-Tag`. */
  readonly tag: string | undefined;
  /** Milliseconds without a byte, while the reader wants one, after which the result is given up. */
  readonly stallMs: number;
}

/**
 * The body of an answer, made honest: it ends only when the whole result has been received, and every failure is
 * an `error` event with an EngineError. The last bytes are held back until more follow or the end is known to be
 * clean, so the words of an exception never reach the reader of the rows.
 *
 *     engine ──▶ held (≥ engineTailBytes, whole chunks) ──▶ reader
 */
export function guardBody(source: Readable, options: BodyOptions): Readable {
  const held: Buffer[] = [];
  let heldBytes = 0;
  let complete = false;
  const body = new Readable({
    highWaterMark: 256 * 1024,
    read() {
      source.resume();
    },
    destroy(error, done) {
      clearTimeout(stall);
      if (!complete) source.destroy();
      done(error);
    },
  });
  const stall = setTimeout(() => {
    // A slow reader is not the engine's fault: time counts only while bytes are wanted.
    if (source.isPaused()) stall.refresh();
    else body.destroy(new EngineError('timeout', `no bytes from the engine for ${options.stallMs} ms`));
  }, options.stallMs);
  source.on('data', (chunk: Buffer) => {
    stall.refresh();
    held.push(chunk);
    heldBytes += chunk.length;
    let wanted = true;
    for (let first = held[0]; first !== undefined; first = held[0]) {
      if (heldBytes - first.length < limits.engineTailBytes) break;
      held.shift();
      heldBytes -= first.length;
      wanted = body.push(first) && wanted;
    }
    if (!wanted) source.pause();
  });
  source.on('end', () => {
    complete = true;
    clearTimeout(stall);
    const failure = exceptionInTail(Buffer.concat(held), options.tag);
    if (failure) return void body.destroy(failure);
    for (const chunk of held) body.push(chunk);
    body.push(null);
  });
  source.on('error', (error) => {
    const failure = exceptionInTail(Buffer.concat(held), options.tag);
    body.destroy(failure ?? new EngineError('unreachable', shortMessage(error.message), undefined, error));
  });
  source.on('close', () => {
    if (!complete)
      body.destroy(new EngineError('unreachable', 'the engine closed the connection in mid-answer'));
  });
  return body;
}

/** All bytes of a body; over `bytesMax` the result is given up with an EngineError. */
export async function collect(body: Readable, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new EngineError('refused', `the result is larger than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
