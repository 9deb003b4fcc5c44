import type { ByteFlow, ByteSink } from '../../base/bytes/byte-flow.ts';
import { limits } from '../limits.ts';
import type { MappedEvents, Ocsf110Pool } from './pool.ts';
import { RowCutter } from './rows.ts';

export interface Frame {
  readonly before: string;
  readonly between: string;
  readonly behind: string;
  readonly after: string;
}

interface Entry {
  mapped: MappedEvents | undefined;
}

/**
 * Maps a flow of rows to a flow of events, in order, with a few concurrent tasks:
 *
 *     engine ──▶ cutter ──▶ tasks (ocsf110TasksAtOnce at most) ──▶ sink
 */
export class Ocsf110Flow implements ByteFlow {
  readonly #rows: ByteFlow;
  readonly #pool: Ocsf110Pool;
  readonly #organization: string;
  readonly #frame: Frame;
  readonly #cutter = new RowCutter();
  readonly #entries: Entry[] = [];
  readonly #closedCallbacks: (() => void)[] = [];
  #sink: ByteSink | undefined;
  #isFirst = true;
  #isWanted = true;
  #isPaused = false;
  #state: 'open' | 'all rows' | 'closed' = 'open';

  constructor(rows: ByteFlow, pool: Ocsf110Pool, organization: string, frame: Frame) {
    this.#rows = rows;
    this.#pool = pool;
    this.#organization = organization;
    this.#frame = frame;
  }

  to(sink: ByteSink): void {
    this.#sink = sink;
    if (this.#frame.before !== '') this.#isWanted = sink.data(Buffer.from(this.#frame.before));
    this.#rows.to({
      data: (piece) => this.#take(piece),
      end: () => this.#endRows(),
      failed: (error) => this.#fail(error),
    });
  }

  resume(): void {
    this.#isWanted = true;
    this.#handOut();
  }

  destroy(): void {
    if (this.#state === 'closed') return;
    this.#close();
    this.#rows.destroy();
    this.#runCallbacks();
  }

  onClosed(callback: () => void): void {
    if (this.#state === 'closed') callback();
    else this.#closedCallbacks.push(callback);
  }

  #take(piece: Uint8Array): boolean {
    if (this.#state === 'closed') return true;
    const rows = this.#cutter.push(piece);
    if (rows !== undefined) this.#begin(rows);
    this.#isPaused = this.#entries.length >= limits.ocsf110TasksAtOnce;
    return !this.#isPaused;
  }

  #endRows(): void {
    if (this.#state === 'closed') return;
    try {
      const rest = this.#cutter.finish();
      if (rest !== undefined) this.#begin(rest);
    } catch (error) {
      return this.#fail(error as Error);
    }
    this.#state = 'all rows';
    this.#handOut();
  }

  #begin(rows: Uint8Array<ArrayBuffer>): void {
    const { between, behind } = this.#frame;
    const around = { before: this.#isFirst ? '' : between, between: behind + between, after: behind };
    this.#isFirst = false;
    const entry: Entry = { mapped: undefined };
    this.#entries.push(entry);
    this.#pool.map(this.#organization, rows, around).then(
      (mapped) => {
        if (this.#state === 'closed') return mapped.release();
        entry.mapped = mapped;
        this.#handOut();
      },
      (error: Error) => this.#fail(error),
    );
  }

  #handOut(): void {
    const sink = this.#sink;
    if (sink === undefined) return;
    for (let first = this.#entries[0]; this.#isWanted && first?.mapped !== undefined; ) {
      this.#entries.shift();
      this.#isWanted = sink.data(first.mapped.bytes);
      first.mapped.release();
      if (this.#isClosed()) return;
      first = this.#entries[0];
    }
    if (this.#state === 'all rows' && this.#entries.length === 0) this.#end(sink);
    else if (this.#isPaused && this.#entries.length < limits.ocsf110TasksAtOnce) {
      this.#isPaused = false;
      this.#rows.resume();
    }
  }

  #isClosed(): boolean {
    return this.#state === 'closed';
  }

  #end(sink: ByteSink): void {
    if (this.#frame.after !== '') sink.data(Buffer.from(this.#frame.after));
    if (this.#isClosed()) return;
    this.#close();
    sink.end();
    this.#runCallbacks();
  }

  #fail(error: Error): void {
    if (this.#state === 'closed') return;
    this.#close();
    this.#rows.destroy();
    this.#sink?.failed(error);
    this.#runCallbacks();
  }

  #close(): void {
    this.#state = 'closed';
    this.#cutter.release();
    for (const { mapped } of this.#entries.splice(0)) mapped?.release();
  }

  #runCallbacks(): void {
    for (const callback of this.#closedCallbacks) callback();
  }
}
