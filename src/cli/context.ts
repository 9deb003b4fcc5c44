import type { Logger } from '../base/observability/log.ts';
import type { Config } from '../config/config.ts';
import type { Directory } from '../control/directory.ts';
import type { EventEnvelope } from '../read/envelope.ts';
import type { Storage } from '../storage/storage.ts';
import type { ToolDeps } from '../tools/context.ts';

/**
 * Stores the JSON of source events (contract: Ingest) of what a command did, in the organizations that they name, as the service's
 * own. Resolves once they are durable.
 */
export type RecordEvents = (
  on: {
    readonly storage: Storage;
    readonly config: Config;
    readonly log: Logger;
    readonly directory: Directory;
  },
  events: readonly string[],
) => Promise<void>;

/** What the commands need of the process. */
export interface CliDeps extends ToolDeps {
  /** The command line that runs, without the program's name. */
  readonly args?: readonly string[];
  readonly recordEvents: RecordEvents;
  /** What readers put around the stored text of every event. */
  readonly eventEnvelope: (config: Config) => EventEnvelope;
  readonly startService: (config: Config, deps: ServiceOutputs) => Promise<RunningService>;
}

export interface ServiceOutputs {
  readonly log: Logger;
  /** Where access-log lines go: a file descriptor or a path. */
  readonly accessLogTo: number | string;
}

/** A service that runs inside this process. */
export interface RunningService {
  /** Without a slash at the end. */
  readonly url: string;
  readonly storage: Storage;
  readonly directory: Directory;
  /** Stores events as the write endpoint does; resolves once they are durable. */
  record(organizationSlug: string, ndjson: Uint8Array): Promise<{ accepted: number; rejected: number }>;
  /** Resolves once all that was recorded can be read; false when `timeoutMs` passed first. */
  flush(timeoutMs: number): Promise<boolean>;
  /** Fires when the service must end by itself, with an Error as the reason. */
  readonly failure: AbortSignal;
  /** Drains and stops, as at SIGTERM. */
  stop(): Promise<void>;
}
