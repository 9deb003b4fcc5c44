import { buffers } from '../base/bytes/buffer-pool.ts';
import type { OrganizationFacts, SharedDirectory } from '../base/events/organization-facts.ts';
import type { ProblemCode } from '../base/errors/problem.ts';
import type { MappingDefinition } from '../adapters/definition.ts';
import type { OtlpForm } from '../adapters/otlp/export.ts';
import type { RedactionSettings } from '../ocsf/redact.ts';
import type { ContentEncoding } from './decompress.ts';
import type { BatchAnswer } from './answer-records.ts';
import { limits } from './limits.ts';
import type { Rejection } from './rejections.ts';
import type { MappedFrame } from './segment.ts';

/** Messages between main and worker threads; buffers travel both ways. */

export type BodyForm = 'json' | 'ndjson';

export interface RequestKind {
  /** `elements`: a piece of a JSON array, without brackets. */
  readonly form: BodyForm | 'elements';
  /** The mapping of its records, unless they are source events (contract: Source adapters). */
  readonly adapter?: string;
  readonly organization: OrganizationFacts | undefined;
  /** Id or slug of the organization for events without one. */
  readonly org?: string;
  /** Gives the events blocks of their own and hashes the body, so that a repeat can be left out. */
  readonly ownBlocks: boolean;
  readonly errorsMax: number;
}

export interface MapTask {
  readonly kind: 'map';
  readonly input: Uint8Array;
  /** End of each body, and its index in `kinds`: an object for each would cost more than the event. */
  readonly ends: Uint32Array;
  readonly kindOf: Uint32Array;
  readonly kinds: readonly RequestKind[];
  readonly output: ArrayBuffer;
  /** Set if a request of the task has no organization. */
  readonly directory: SharedDirectory | undefined;
  /** One more rejected event ends the work on a request. */
  readonly rejectedMax: number;
}

export interface SplitTask {
  readonly kind: 'split';
  readonly input: Uint8Array;
  readonly form: BodyForm;
  readonly adapter?: string;
  readonly otlp?: OtlpForm;
  readonly encoding: ContentEncoding;
  readonly hashed: boolean;
  /** Receives the decompressed body; one that does not fit is too large. */
  readonly room: SharedArrayBuffer;
  readonly bodyBytesMax: number;
  readonly pieceBytes: number;
}

export interface Block {
  readonly offset: number;
  readonly length: number;
  readonly rows: number;
  readonly crc: number;
  readonly request: number | undefined;
}

export type Outcome = Answered | Refused;

export interface Answered {
  readonly kind: 'answered';
  readonly answer: BatchAnswer;
  readonly bodyHash: string | undefined;
  readonly rejections: readonly Rejection[];
  /** More events were rejected than allowed: the rest was skipped, and nothing may be stored. */
  readonly hasTooManyRejected: boolean;
}

export interface Refused {
  readonly kind: 'problem';
  readonly code: ProblemCode;
  readonly detail: string;
  readonly rejections?: readonly Rejection[];
}

export interface MapResult {
  readonly input: ArrayBuffer | undefined;
  readonly buffer: ArrayBuffer;
  readonly blocks: readonly Block[];
  /** Accepted events by request; the whole outcome of requests without an entry in `outcomes`. */
  readonly accepted: Uint32Array;
  readonly outcomes: ReadonlyMap<number, Outcome>;
}

export interface SplitResult {
  readonly input: ArrayBuffer;
  /** The decompressed body in the task's room, or its refusal. */
  readonly body: Uint8Array | Refused;
  readonly form: RequestKind['form'];
  readonly pieces: readonly (readonly [start: number, end: number])[];
  readonly bodyHash: string | undefined;
}

export interface WorkerSettings extends RedactionSettings {
  readonly appName: string;
  readonly mappings?: readonly MappingDefinition[] | undefined;
}

export type Directory = () => SharedDirectory;

/** Two renderings and the columns take about twice the input; the worker takes a larger buffer if needed. */
export function outputBytesOf(inputBytes: number): number {
  return inputBytes * 2.5;
}

interface TaskBounds {
  readonly rejectedMax?: number;
  readonly outputBytes?: number;
}

export function mapTask(
  directory: Directory,
  input: Uint8Array,
  requests: Pick<MapTask, 'ends' | 'kindOf' | 'kinds'>,
  bounds: TaskBounds = {},
): MapTask {
  const { rejectedMax = limits.rejectedEventsMax, outputBytes = outputBytesOf(input.length) } = bounds;
  const needsDirectory = requests.kinds.some(({ organization }) => organization === undefined);
  return {
    kind: 'map',
    input,
    ...requests,
    output: buffers.take(outputBytes).handOver(),
    directory: needsDirectory ? directory() : undefined,
    rejectedMax,
  };
}

export function loneTask(
  directory: Directory,
  input: Uint8Array,
  kind: RequestKind,
  bounds?: TaskBounds,
): MapTask {
  const requests = { ends: Uint32Array.of(input.length), kindOf: Uint32Array.of(0), kinds: [kind] };
  return mapTask(directory, input, requests, bounds);
}

export function frameOf({ buffer }: MapResult, block: MapResult['blocks'][number]): MappedFrame {
  const { offset, length, rows, crc } = block;
  return { rows, payload: new Uint8Array(buffer, offset, length), payloadCrc: crc };
}

export function outcomeOf(result: MapResult, index: number): Outcome {
  const answer = { accepted: result.accepted[index] ?? 0, rejected: 0, errors: [] };
  return (
    result.outcomes.get(index) ?? {
      kind: 'answered',
      answer,
      bodyHash: undefined,
      rejections: [],
      hasTooManyRejected: false,
    }
  );
}
