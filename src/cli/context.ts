import type { Logger } from '../base/observability/log.ts';
import type { Config } from '../config/config.ts';
import type { Directory } from '../control/directory.ts';
import type { EventEnvelope } from '../read/envelope.ts';
import type { Storage } from '../storage/storage.ts';
import type { ToolDeps } from '../tools/context.ts';

/**
 * Stores a command's source events (contract: Ingest) as the service's own, in the organizations they name.
 * Resolves once they are durable.
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

export interface CliDeps extends ToolDeps {
  /** Without the program's name. */
  readonly args?: readonly string[];
  readonly recordEvents: RecordEvents;
  readonly eventEnvelope: (config: Config) => EventEnvelope;
  readonly startService: (config: Config, deps: ServiceOutputs) => Promise<RunningService>;
}

export interface ServiceOutputs {
  readonly log: Logger;
  /** A file descriptor or a path. */
  readonly accessLogTo: number | string;
}

export interface RunningService {
  /** Without a trailing slash. */
  readonly url: string;
  readonly storage: Storage;
  readonly directory: Directory;
  /** Stores events like the write endpoint; resolves once they are durable. */
  record(organizationSlug: string, ndjson: Uint8Array): Promise<{ accepted: number; rejected: number }>;
  /** Resolves once all recorded events are readable; false after `timeoutMs`. */
  flush(timeoutMs: number): Promise<boolean>;
  /** Fires if the service must stop by itself, with an Error as the reason. */
  readonly failure: AbortSignal;
  /** Drains and stops, as on SIGTERM. */
  stop(): Promise<void>;
}
