import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import sonicBoom from 'sonic-boom';
import { errorFacts, type Logger } from '../base/log.ts';
import { counter } from '../base/metrics.ts';
import { limits } from './limits.ts';

const newline = 0x0a;

/**
 * Standard output of several processes as one: whole lines, never one within another. A reader that stalls costs lines
 * beyond `linesBufferedBytesMax`, never a process.
 */
export class LineOutput {
  readonly #sink: sonicBoom.SonicBoom;
  #failing = false;

  constructor(destination: number | string, log: Logger) {
    const maxLength = limits.linesBufferedBytesMax;
    this.#sink = new sonicBoom.SonicBoom({ fd: destination, sync: false, maxLength, contentMode: 'buffer' });
    const lost = counter('auditlog_access_log_dropped_lines_total', 'Access-log lines not written', []);
    this.#sink.on('drop', (bytes: Buffer) => lost.inc(linesIn(bytes)));
    this.#sink.on('error', (error: unknown) => {
      if (!this.#failing) log.warn(errorFacts(error), 'the access log cannot be written');
      this.#failing = true;
    });
    this.#sink.on('write', () => {
      this.#failing = false;
    });
  }

  /** Passes on the lines of a stream. The end of one that a killed process left without its newline is dropped. */
  take(source: NodeJS.ReadableStream): void {
    let rest: Buffer = Buffer.alloc(0);
    source.on('data', (piece: Buffer) => {
      const end = piece.lastIndexOf(newline) + 1;
      const hasLine = end > 0;
      if (hasLine) this.#write(Buffer.concat([rest, piece.subarray(0, end)]));
      rest = hasLine ? piece.subarray(end) : Buffer.concat([rest, piece]);
      if (rest.length > limits.lineBytesMax) rest = Buffer.alloc(0);
    });
  }

  #write(lines: Buffer): void {
    // With `contentMode: 'buffer'` it takes these alone, which its types do not say.
    this.#sink.write(lines as unknown as string);
  }

  async close(timeoutMs: number): Promise<void> {
    // Rejects with an error of the sink, which is logged above.
    const closed = once(this.#sink, 'close').catch(() => {});
    this.#sink.end();
    await Promise.race([closed, sleep(timeoutMs, undefined, { ref: false })]);
    this.#sink.destroy();
  }
}

function linesIn(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) lines += 1;
  return lines;
}
