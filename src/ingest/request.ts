import type { OrganizationFacts } from '../base/events/organization-facts.ts';
import type { OtlpForm } from '../adapters/otlp/export.ts';
import type { ContentEncoding } from './decompress.ts';
import type { FrameMemory } from './frame-memory.ts';
import { limits } from './limits.ts';
import type { MappedFrame } from './segment.ts';
import type { BodyForm, Outcome } from './task.ts';

/** One POST of source events, as the HTTP layer hands it over. */
export interface IngestRequest {
  /** The bytes as received; the buffer behind them is given away. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly form: BodyForm;
  readonly encoding: ContentEncoding;
  /** The mapping of the records that the body holds, if these are no source events. */
  readonly adapter?: string;
  /** The body is an export request of OTLP, whose records are made the lines of an NDJSON body first. */
  readonly otlp?: OtlpForm;
  /** Undefined for a key of all organizations. */
  readonly organization: OrganizationFacts | undefined;
  /** Id or slug of the organization of events that name none. */
  readonly org?: string;
  /** Id of the API key that sends; undefined for events that `demo` makes up. */
  readonly apiKey?: string;
  /** Who sends, and the Idempotency-Key it sent; the word `body` stands for the hash of the body. */
  readonly idempotency: { readonly apiKey: string; readonly key: string } | undefined;
  /** How many rejected events the answer names; `rejectedErrorsReportedMax` unless the sender asked for more. */
  readonly errorsMax?: number;
}

/** How many rejected events the answer to a request names. */
export const errorsMaxOf = ({ errorsMax = limits.rejectedErrorsReportedMax }: IngestRequest): number =>
  errorsMax;

/** A request that was mapped. */
export interface MappedRequest {
  readonly outcome: Outcome;
  /** Blocks that are not in the log yet: of a request with an Idempotency-Key, or of a large one. */
  readonly frames: readonly MappedFrame[];
  /** The memory of the frames. Whoever has the request stored gives it back, once. */
  readonly memory: FrameMemory;
}
