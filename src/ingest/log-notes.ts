import { errorFacts, type Logger } from '../base/observability/log.ts';
import { Repeated } from '../base/waiting/repeated.ts';
import { limits } from './limits.ts';

/** How far a log has come. */
export interface LogProgress {
  /** The newest segment that has taken events. */
  readonly newest: number;
  /** Segments with events that are not in the engine yet. */
  readonly waiting: number;
}

export interface LogNote extends LogProgress {
  /** False once nothing waited and the process had stopped. */
  readonly isOpen: boolean;
}

/**
 * What the engine knows of a log. The folder and the head beside it lie on one disk and can go together: then this alone
 * tells that there was a log. It is behind the log by `logNoteMs`, and by as long as the engine is away.
 */
export interface LogNotes {
  read(): Promise<(LogNote & { readonly notedAt: string }) | undefined>;
  write(note: LogNote): Promise<void>;
}

/** Tells the engine how far a log has come, as long as it is open. */
export class LogNoting {
  readonly #notes: LogNotes;
  readonly #progress: () => LogProgress;
  readonly #log: Logger;
  readonly #repeated: Repeated;
  #told: LogProgress | undefined;

  private constructor(notes: LogNotes, progress: () => LogProgress, log: Logger) {
    this.#notes = notes;
    this.#progress = progress;
    this.#log = log;
    this.#repeated = new Repeated(
      limits.logNoteMs,
      () => this.#tell(),
      (error) => this.#warn(error),
    );
  }

  /** Resolves when the engine knows that the log is open, or does not answer. */
  static async begin(notes: LogNotes, progress: () => LogProgress, log: Logger): Promise<LogNoting> {
    const noting = new LogNoting(notes, progress, log);
    await noting.#tell().catch((error: unknown) => noting.#warn(error));
    return noting;
  }

  /** To be called when the log takes no more events. */
  async stop(): Promise<void> {
    await this.#repeated.stop();
    const progress = this.#progress();
    // What waits stays in the log, which stays known as open.
    if (progress.waiting > 0) return;
    await this.#notes.write({ ...progress, isOpen: false }).catch((error: unknown) => this.#warn(error));
  }

  async #tell(): Promise<void> {
    const progress = this.#progress();
    const { newest, waiting } = progress;
    if (this.#told?.newest === newest && this.#told.waiting === waiting) return;
    await this.#notes.write({ ...progress, isOpen: true });
    this.#told = progress;
  }

  #warn(error: unknown): void {
    this.#log.debug(errorFacts(error), 'how far the log has come could not be noted in the engine yet');
  }
}
