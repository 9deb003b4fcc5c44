import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { limits as baseLimits } from '../base/limits.ts';
import type { Logger } from '../base/observability/log.ts';
import type { EmbeddedEngine } from './engine.ts';
import { limits } from './limits.ts';
import type { WrittenParts } from './written-parts.ts';

/** What a process that sends segments asks of the one that runs the embedded engine. Rejects where it cannot be told. */
export interface OwnEngine {
  /** Before an INSERT: whether the engine's disk has room, and its process, which `checkWritten` is to find again. */
  look(): Promise<EngineLook>;
  /**
   * After an INSERT: looks at the parts that are new, merged ones too. Rejects when one is cut short, and then starts
   * the engine again; also when the engine is not that of the look any more, as it may have set the new part aside.
   */
  checkWritten(engineProcess: number): Promise<void>;
}

export interface EngineLook {
  readonly hasRoom: boolean;
  /** Id of the engine's process; 0 while it is down. */
  readonly process: number;
}

/** The engine that this process runs. */
export class RunningEngine implements OwnEngine {
  readonly #engine: EmbeddedEngine;
  readonly #directory: string;
  readonly #written: WrittenParts;
  readonly #log: Logger;
  #checks = 0;

  constructor(engine: EmbeddedEngine, dataDir: string, written: WrittenParts, log: Logger) {
    this.#engine = engine;
    this.#directory = join(dataDir, 'engine');
    this.#written = written;
    this.#log = log;
  }

  async look(): Promise<EngineLook> {
    const { bavail, bsize } = await statfs(this.#directory);
    return { hasRoom: bavail * bsize >= limits.engineFreeBytesMin, process: this.#engine.pid() ?? 0 };
  }

  async checkWritten(engineProcess: number): Promise<void> {
    await this.checkParts();
    if (engineProcess !== this.#engine.pid())
      throw new Error('the engine has ended since it was given a segment');
    this.#checks += 1;
  }

  /** INSERTs that were looked at and are whole, since the start. */
  checks(): number {
    return this.#checks;
  }

  /** Rejects when a new part is cut short; the engine is then ending, and sets the part aside when it starts. */
  async checkParts(): Promise<void> {
    const broken = await this.#written.findBroken();
    if (broken.length === 0) return;
    const facts = { parts: broken.slice(0, baseLimits.damageShownMax) };
    this.#log.error(facts, 'the engine could not write its files and has not noticed; it is started again');
    const pid = this.#engine.pid();
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
    throw new Error('the engine has not written what it was given');
  }
}
