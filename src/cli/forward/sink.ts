import type { ForwardedEvent } from './batch.ts';

/** What a file sink remembers in the checkpoint: the file that was written to, and how much of it is delivered. */
export interface FileState {
  readonly path: string;
  readonly inode: number;
  readonly bytes: number;
}

/** Where events go. Rejects with AuditlogError where a retry may help. */
export interface Sink {
  /** Makes ready for a batch; true when the state changed and must be in the checkpoint before the delivery. */
  prepare(events: readonly ForwardedEvent[]): Promise<boolean>;
  /** Resolves when the other side has the events for good. How many it will never take, and were put aside. */
  deliver(events: readonly ForwardedEvent[], signal: AbortSignal): Promise<{ readonly rejected: number }>;
  state(): FileState | undefined;
  close(): Promise<void>;
}
