import { availableParallelism } from 'node:os';
import { Piscina } from 'piscina';
import { buffers } from '../../base/bytes/buffer-pool.ts';
import { errorFacts, type Logger } from '../../base/observability/log.ts';
import { threadArguments } from '../../base/processes/worker-threads.ts';
import { limits } from '../limits.ts';
import type { Around, Ocsf110Result, Ocsf110Settings, Ocsf110Task } from './task.ts';

const ocsf110ThreadsMax = 4;
const ocsf110IdleMsMax = 60_000;
/** Output bytes per input byte; a larger result allocates its own buffer. */
const ocsf110Growth = 4;

export interface MappedEvents {
  readonly bytes: Uint8Array;
  release(): void;
}

/**
 * Apart from the threads of ingest, so that an export cannot delay bodies. They start with the first task and end when idle.
 * Admitted reads bound the queue (`ocsf110TasksAtOnce`).
 */
export class Ocsf110Pool {
  readonly #piscina: Piscina<Ocsf110Task, Ocsf110Result>;

  constructor(settings: Ocsf110Settings, log: Pick<Logger, 'error'>) {
    const { vendorName, productName, appName } = settings;
    this.#piscina = new Piscina<Ocsf110Task, Ocsf110Result>({
      filename: import.meta.url.replace(/pool(\.[jt]s)$/, 'worker$1'),
      minThreads: 0,
      maxThreads: Math.min(ocsf110ThreadsMax, availableParallelism()),
      idleTimeout: ocsf110IdleMsMax,
      workerData: { vendorName, productName, appName } satisfies Ocsf110Settings,
      resourceLimits: { maxOldGenerationSizeMb: limits.ocsf110HeapMegabytesMax },
      execArgv: threadArguments(),
    });
    this.#piscina.on('error', (error: unknown) => log.error(errorFacts(error), 'A mapping thread failed'));
  }

  /** Takes the memory of the rows over. Rejects if the thread fails. */
  async map(organization: string, rows: Uint8Array<ArrayBuffer>, around: Around): Promise<MappedEvents> {
    const output = buffers.take(rows.length * ocsf110Growth).handOver();
    const task: Ocsf110Task = { organization, rows, around, output };
    const { events, input } = await this.#piscina.run(task, { transferList: [rows.buffer, output] });
    buffers.give(input);
    const lease = buffers.adopt(events.buffer);
    return { bytes: events, release: () => lease.release() };
  }

  close(): Promise<void> {
    return this.#piscina.destroy();
  }
}
