import { LineSink } from '../base/files/line-sink.ts';
import type { Logger } from '../base/observability/log.ts';
import { limits } from './limits.ts';

const newline = 0x0a;

/**
 * Standard output of several processes as one: whole lines, never one within another. A reader that stalls costs lines
 * beyond `linesBufferedBytesMax`, never a process.
 */
export class LineOutput {
  readonly #sink: LineSink;

  constructor(destination: number | string, log: Logger) {
    this.#sink = new LineSink({ destination, bufferedBytesMax: limits.linesBufferedBytesMax, log });
  }

  /** Passes on the lines of a stream. The end of one that a killed process left without its newline is dropped. */
  take(source: NodeJS.ReadableStream): void {
    let rest: Buffer = Buffer.alloc(0);
    source.on('data', (piece: Buffer) => {
      const end = piece.lastIndexOf(newline) + 1;
      const hasLine = end > 0;
      if (hasLine) this.#sink.write(Buffer.concat([rest, piece.subarray(0, end)]));
      rest = hasLine ? piece.subarray(end) : Buffer.concat([rest, piece]);
      if (rest.length > limits.lineBytesMax) rest = Buffer.alloc(0);
    });
  }

  /** Writes what is held, within `timeoutMs`. */
  close(timeoutMs: number): Promise<void> {
    return this.#sink.close(timeoutMs);
  }
}
