import type { DamageRegister } from '../base/observability/damage.ts';
import { type MetricsOfProcess, metricsOfProcess } from '../base/observability/metrics.ts';
import { processDirectory } from '../config/log-directories.ts';
import type { EngineBeside } from '../storage/open-storage.ts';
import { Channel, type Port } from './channel.ts';
import { limits } from './limits.ts';
import type { Listening, Task, ToFrontEnd, ToSupervisor } from './questions.ts';

type Damage = ReturnType<DamageRegister['list']>;
type SupervisorChannel = Channel<ToSupervisor, ToFrontEnd>;

/** Where a front end stands among those of its server, and what it asks their parent. */
export class Place {
  readonly number: number;
  /** Where it listens, together with the others; 0: any port. */
  readonly port: number;
  /** Undefined where a ClickHouse server is used. */
  readonly engine: Omit<EngineBeside, 'dataDir'> | undefined;
  readonly #channel: SupervisorChannel;
  readonly #processes: number;
  #areAllUp = false;

  private constructor(channel: SupervisorChannel, { number, processes, port, engine }: Task) {
    this.number = number;
    this.port = port;
    this.#channel = channel;
    this.#processes = processes;
    this.engine = engine && {
      connection: engine,
      own: {
        look: () => channel.ask('look', undefined),
        checkWritten: (engineProcess) =>
          channel.ask('checkWritten', { process: engineProcess }, limits.engineAskMsMax),
      },
      // Known in one place for all; what cannot be told now, the next read finds again.
      reportUnreadable: (part) => void channel.ask('unreadable', { part }).catch(() => undefined),
    };
  }

  /**
   * Asks the parent what to do; `port` is the end of its channel here. `damage` is what this process knows of itself,
   * `onStop` is called when it has to end.
   */
  static async take(port: Port, damage: () => Damage, onStop: () => void): Promise<Place> {
    const task: { number?: number } = {};
    const channel: SupervisorChannel = new Channel<ToSupervisor, ToFrontEnd>(port, {
      stop: async () => onStop(),
      metrics: () => metricsOfProcess(String(task.number)),
      damage: async () => damage(),
    });
    const given = await channel.ask('task', undefined, limits.engineAskMsMax);
    task.number = given.number;
    return new Place(channel, given);
  }

  /** What it keeps for itself in DATA_DIR. */
  directory(dataDir: string): string {
    return processDirectory(dataDir, this.number);
  }

  /** All directories in which front ends run. */
  directories(dataDir: string): string[] {
    return Array.from({ length: this.#processes }, (_, index) => processDirectory(dataDir, index + 1));
  }

  /** Said once it listens, and again with each certificate that it serves. */
  listening(address: Listening): Promise<void> {
    return this.#channel.ask('listening', address, limits.engineAskMsMax);
  }

  /** Whether the whole server is up: until then one that cannot be started ends it. */
  async areAllUp(): Promise<boolean> {
    this.#areAllUp ||= await this.#channel.ask('started', undefined).catch(() => false);
    return this.#areAllUp;
  }

  /** The metrics of all processes of the server. */
  metrics(): Promise<readonly MetricsOfProcess[]> {
    return this.#channel.ask('metrics', undefined, limits.gatherMsMax);
  }

  /** The damage that all processes of the server know. */
  damage(): Promise<Damage> {
    return this.#channel.ask('damage', undefined, limits.gatherMsMax);
  }
}
