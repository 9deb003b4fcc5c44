import { createHash } from 'node:crypto';
import type { AuditEvent, EventSchema, OcsfEvent } from '../../client/client.ts';

export interface ForwardedEvent {
  /** The event as received, on one line. */
  readonly text: string;
  /** Unix microseconds. */
  readonly time: number;
  /** Unique in a checkpoint, and stable across deliveries. */
  id(): string;
}

export type KnownEvent = readonly [time: number, hash: string, count: number];

export type Position =
  | { readonly mode: 'feed'; readonly cursor: string }
  | {
      readonly mode: 'pages';
      readonly through: number | undefined;
      /** From here on `known` contains every delivered event. */
      readonly knownFrom: number;
      readonly known: readonly KnownEvent[];
    };

export interface Batch {
  readonly events: readonly ForwardedEvent[];
  position(): Position;
  /**
   * All events recorded before this moment (Unix microseconds) are delivered with this batch; undefined:
   * unknown.
   */
  readonly settledThrough: number | undefined;
}

/** Unix microseconds. Throws if the event has another schema than requested. */
export function eventMicros(event: AuditEvent | OcsfEvent | undefined, schema: EventSchema): number {
  if (event === undefined) return 0;
  if ('unmapped' in event && schema === 'ocsf') return event.unmapped.time_us;
  if (schema === 'ocsf') throw new Error('the server does not support schema=ocsf');
  return event.time;
}

/** JSON strings contain no raw line ends, so a line end is only layout. */
export const oneLine = (text: string): string => (/[\r\n]/.test(text) ? text.replace(/[\r\n]+/g, ' ') : text);

/** 128 bits of SHA-256, 22 characters. */
export function shortHash(...parts: readonly (string | number)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part}\n`);
  return hash.digest().subarray(0, 16).toString('base64url');
}
