import { limits } from './limits.ts';
import { type FrameInput, frameHeaderBytes } from './segment.ts';
import { rowsPerSegmentMax } from './sequence.ts';

/** Somebody who waits until the log has done what was asked. */
export interface Waiting {
  readonly frames: readonly FrameInput[];
  readonly bytes: number;
  readonly rows: number;
  /** The only one whose events are in the frames, where that is known. */
  readonly organization?: string | undefined;
  /** With the segment that the frames are in, or that is open after a seal. */
  resolve(segment: number): void;
  reject(error: unknown): void;
}

/** Bytes that frames take in the log at most: JSON text has up to three bytes of UTF-8 a character. */
export function framesBytesMax(frames: readonly FrameInput[]): number {
  return frames.reduce((sum, f) => sum + frameHeaderBytes + f.payload.length + f.notes.length * 3, 0);
}

export function rowsOf(frames: readonly FrameInput[]): number {
  return frames.reduce((sum, frame) => sum + frame.rows, 0);
}

/** Requests in the order in which they came; those that wait together are written as one group, with one sync. */
export class AppendQueue {
  readonly #waiting: Waiting[] = [];
  #bytes = 0;

  get length(): number {
    return this.#waiting.length;
  }

  /** Of all that wait. */
  get bytes(): number {
    return this.#bytes;
  }

  push(waiting: Waiting): void {
    this.#bytes += waiting.bytes;
    this.#waiting.push(waiting);
  }

  first(): Waiting | undefined {
    return this.#waiting[0];
  }

  /** Takes the first away. */
  shift(): void {
    this.#bytes -= this.#waiting.shift()?.bytes ?? 0;
  }

  /** The first of the queue that one write takes; at least one, unless nobody waits. */
  takeGroup(): Waiting[] {
    const group: Waiting[] = [];
    let bytes = 0;
    let rows = 0;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const fits = bytes + next.bytes <= limits.walGroupBytesMax && rows + next.rows <= rowsPerSegmentMax;
      if (group.length > 0 && !fits) break;
      group.push(next);
      this.#waiting.shift();
      bytes += next.bytes;
      rows += next.rows;
    }
    this.#bytes -= bytes;
    return group;
  }

  /** All that wait. */
  takeAll(): Waiting[] {
    this.#bytes = 0;
    return this.#waiting.splice(0);
  }
}
