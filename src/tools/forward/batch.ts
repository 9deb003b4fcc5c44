import { createHash } from 'node:crypto';
import type { AuditEvent, EventSchema, OcsfEvent } from '../../client/client.ts';

/** An event on its way to another system. */
export interface ForwardedEvent {
  /** The event object as it was received, on one line. */
  readonly text: string;
  /** Unix microseconds. */
  readonly time: number;
  /** Unique among the events of a checkpoint, and the same when the checkpoint delivers the event again. */
  id(): string;
}

export type KnownEvent = readonly [time: number, hash: string, count: number];

/** How far a source has come; what comes after it has not been delivered. */
export type Position =
  | { readonly mode: 'feed'; readonly cursor: string }
  | {
      readonly mode: 'pages';
      /** Everything up to here has been looked at, Unix microseconds. */
      readonly through: number | undefined;
      /** From here on, `known` has every event delivered. */
      readonly knownFrom: number;
      readonly known: readonly KnownEvent[];
    };

/** What is delivered in one piece. */
export interface Batch {
  readonly events: readonly ForwardedEvent[];
  /** Where a source goes on once the batch is delivered; asked for before the next batch. */
  position(): Position;
  /** All that was recorded before this moment is delivered with this batch, Unix microseconds; undefined where nobody says. */
  readonly settledThrough: number | undefined;
}

/**
 * When an event of either schema happened, Unix microseconds. Throws for an event that is not of the schema that was
 * asked for: a server that does not know it.
 */
export function microsOf(event: AuditEvent | OcsfEvent | undefined, schema: EventSchema): number {
  if (event === undefined) return 0;
  if ('unmapped' in event && schema === 'ocsf') return event.unmapped.time_us;
  if (schema === 'ocsf') throw new Error('the server does not know schema=ocsf: it is too old');
  return event.time;
}

/** JSON strings have no raw line ends, so a line end is only layout. */
export function oneLine(text: string): string {
  return /[\r\n]/.test(text) ? text.replace(/[\r\n]+/g, ' ') : text;
}

/** 128 bits of SHA-256, 22 characters. */
export function shortHash(...parts: readonly (string | number)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part}\n`);
  return hash.digest().subarray(0, 16).toString('base64url');
}
