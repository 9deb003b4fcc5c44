import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import sonicBoom from 'sonic-boom';
import { errorFacts, type Logger } from '../observability/log.ts';
import { counter } from '../observability/metrics.ts';

const newline = 0x0a;

export interface LineSinkOptions {
  /** A file descriptor (1 = standard output) or a path to append to. */
  readonly destination: number | string;
  readonly bufferedBytesMax: number;
  readonly log: Logger;
}

/** A stalled reader costs lines beyond `bufferedBytesMax`, which are counted, never a request. */
export class LineSink {
  readonly #sink: sonicBoom.SonicBoom;
  #dropped = 0;
  #failing = false;

  constructor({ destination, bufferedBytesMax: maxLength, log }: LineSinkOptions) {
    this.#sink = new sonicBoom.SonicBoom({ fd: destination, sync: false, maxLength, contentMode: 'buffer' });
    const lost = counter('auditlog_access_log_dropped_lines_total', 'Access-log lines not written', []);
    this.#sink.on('drop', (bytes: Buffer) => {
      const lines = linesIn(bytes);
      this.#dropped += lines;
      lost.inc(lines);
    });
    this.#sink.on('error', (error: unknown) => {
      if (!this.#failing) log.warn(errorFacts(error), 'The access log cannot be written');
      this.#failing = true;
    });
    this.#sink.on('write', () => {
      this.#failing = false;
    });
  }

  write(lines: Buffer): void {
    // With `contentMode: 'buffer'` it accepts only buffers, which its types omit.
    this.#sink.write(lines as unknown as string);
  }

  dropped(): number {
    return this.#dropped;
  }

  async close(timeoutMs: number): Promise<void> {
    // Rejects with an error of the sink, logged above.
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
