import { AuditlogError } from '../../client/client.ts';
import { errorCode } from '../../base/errors/system-error.ts';
import type { CliIo } from '../context.ts';
import type { ForwardedEvent } from './batch.ts';
import { type FormatName, formatEvents } from './formats.ts';

/** A file sink's part of the checkpoint: the file, and its delivered length. */
export interface FileState {
  readonly path: string;
  readonly inode: number;
  readonly bytes: number;
}

export interface Delivery {
  readonly cut: AbortSignal;
  /** Saves the sink's changed state before anything is written. */
  saveState(): Promise<void>;
}

export interface Delivered {
  /** Permanently refused events. */
  readonly rejected: number;
  readonly later?: { readonly events: readonly ForwardedEvent[]; readonly error: AuditlogError } | undefined;
}

/** A destination. Rejects with AuditlogError if a retry may help. */
export interface Sink {
  deliver(events: readonly ForwardedEvent[], delivery: Delivery): Promise<Delivered>;
  state?(): FileState;
  close?(): Promise<void>;
}

/** Standard output. The command ends when its reader closes the pipe. */
export function streamSink({ output }: CliIo, format: FormatName): Sink {
  return {
    async deliver(events) {
      const body = formatEvents(format, events);
      await new Promise<void>((resolve, reject) => {
        output.write(body, (error) => {
          if (!error) resolve();
          else
            reject(
              errorCode(error) === 'EPIPE' ? new Error('the reader of standard output closed it') : error,
            );
        });
      });
      return { rejected: 0 };
    },
  };
}

const passing = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EAGAIN', 'EMFILE', 'ENFILE', 'ETIMEDOUT', 'ESTALE']);

/** Makes a full or failing disk a transient error. */
export async function orTransient<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const code = errorCode(error) ?? '';
    if (!passing.has(code)) throw error;
    throw new AuditlogError('network', `writing failed: ${code}`, { cause: error });
  }
}

/** The answer may quote an event, which must not reach logs. */
export function withoutBody(error: unknown): unknown {
  if (!(error instanceof AuditlogError) || error.status === undefined) return error;
  const { status, retryAfterMs } = error;
  return new AuditlogError('http', `the destination answered ${status}`, { status, retryAfterMs });
}
