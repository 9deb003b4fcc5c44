import type { OrganizationFacts } from '../base/events/organization-facts.ts';
import type { OtlpForm } from '../adapters/otlp/export.ts';
import type { ContentEncoding } from './decompress.ts';
import type { FrameMemory } from './frame-memory.ts';
import { limits } from './limits.ts';
import type { MappedFrame } from './segment.ts';
import type { BodyForm, Outcome } from './task.ts';

/** One POST of source events, as the HTTP layer passes it. */
export interface IngestRequest {
  /** The bytes as received; ingest takes over the buffer. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly form: BodyForm;
  readonly encoding: ContentEncoding;
  /** The mapping of its records, unless they are source events. */
  readonly adapter?: string;
  /** The body is an OTLP export request, whose records become NDJSON lines first. */
  readonly otlp?: OtlpForm;
  readonly organization: OrganizationFacts | undefined;
  readonly org?: string;
  readonly apiKey?: string;
  /** The sender and its Idempotency-Key; `body` stands for the hash of the body. */
  readonly idempotency: { readonly apiKey: string; readonly key: string } | undefined;
  readonly errorsMax?: number;
}

export const errorsMaxOf = ({ errorsMax = limits.rejectedErrorsReportedMax }: IngestRequest): number =>
  errorsMax;

export interface MappedRequest {
  readonly outcome: Outcome;
  /** Blocks not yet in the log: of a large request, or one with an Idempotency-Key. */
  readonly frames: readonly MappedFrame[];
  /** Memory of the frames; release it once after storing. */
  readonly memory: FrameMemory;
}
