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

/**
 * What main and worker threads say to each other: a task is many requests, its result a few blocks. Buffers travel
 * both ways and come back to be used again.
 */

export type BodyForm = 'json' | 'ndjson';

/** What a worker must know of a request, its body aside. */
export interface RequestKind {
  /** `elements`: a piece of a JSON array, without the brackets. */
  readonly form: BodyForm | 'elements';
  /** What the elements are, where they are records of other programs and no source events (contract: Source adapters). */
  readonly adapter?: string;
  /** The organization of a key that belongs to one; undefined for a key of all organizations. */
  readonly organization: OrganizationFacts | undefined;
  /** Id or slug of the organization of events that name none. */
  readonly org?: string;
  /** Its events get blocks of their own and the body is hashed, so that a repeat can be left out whole. */
  readonly ownBlocks: boolean;
  /** How many of its rejected events are named in the answer. */
  readonly errorsMax: number;
}

/** Turns the events of requests into blocks. */
export interface MapTask {
  readonly kind: 'map';
  /** Bodies of the requests, one after the other: transferred, or a view of shared memory. */
  readonly input: Uint8Array;
  /**
   * For each request where its body ends in the input, and which of `kinds` it is. Single events come by the hundred
   * and are alike: an object for each would cost both threads more than the event.
   */
  readonly ends: Uint32Array;
  readonly kindOf: Uint32Array;
  readonly kinds: readonly RequestKind[];
  /** Where the blocks go if they fit. */
  readonly output: ArrayBuffer;
  /** Present when a request of the task has no organization of its own. */
  readonly directory: SharedDirectory | undefined;
  /** The rejected event of a request after these ends the work on it. */
  readonly rejectedMax: number;
}

/** Decompresses a large body and finds where it can be divided between workers. */
export interface SplitTask {
  readonly kind: 'split';
  readonly input: Uint8Array;
  readonly form: BodyForm;
  readonly adapter?: string;
  readonly otlp?: OtlpForm;
  readonly encoding: ContentEncoding;
  readonly hashed: boolean;
  /** Where the decompressed body goes, which is too large if it does not fit. */
  readonly room: SharedArrayBuffer;
  readonly bodyBytesMax: number;
  readonly pieceBytes: number;
}

export interface Block {
  readonly offset: number;
  readonly length: number;
  readonly rows: number;
  /** CRC-32C of the block. */
  readonly crc: number;
  /** Index of the request it belongs to; undefined for the rows of all that have no blocks of their own. */
  readonly request: number | undefined;
}

export type Outcome = Answered | Refused;

export interface Answered {
  readonly kind: 'answered';
  readonly answer: BatchAnswer;
  readonly bodyHash: string | undefined;
  readonly rejections: readonly Rejection[];
  /** More events were rejected than may be: what comes after was not looked at, and nothing may be stored. */
  readonly hasTooManyRejected: boolean;
}

export interface Refused {
  readonly kind: 'problem';
  readonly code: ProblemCode;
  readonly detail: string;
  /** Events that had been rejected by then. */
  readonly rejections?: readonly Rejection[];
}

export interface MapResult {
  /** The task's input, given back unless it was shared. */
  readonly input: ArrayBuffer | undefined;
  readonly buffer: ArrayBuffer;
  readonly blocks: readonly Block[];
  /** Events accepted, a request each; where nothing else is to be said, that is the whole outcome. */
  readonly accepted: Uint32Array;
  readonly outcomes: ReadonlyMap<number, Outcome>;
}

export interface SplitResult {
  readonly input: ArrayBuffer;
  /** The decompressed body in the task's room, or what is wrong with it. */
  readonly body: Uint8Array | Refused;
  readonly form: RequestKind['form'];
  /** First and last byte, exclusive, of each piece. */
  readonly pieces: readonly (readonly [start: number, end: number])[];
  readonly bodyHash: string | undefined;
}

/** What a worker is started with. */
export interface WorkerSettings extends RedactionSettings {
  readonly appName: string;
  /** Mappings of the installation, beside the built-in ones. */
  readonly mappings?: readonly MappingDefinition[] | undefined;
}

/** All organizations, for keys that belong to none; the same object until something changes. */
export type Directory = () => SharedDirectory;

/** Two renderings and the columns take about twice what came in; where it is more, the worker takes a larger buffer. */
export function outputBytesOf(inputBytes: number): number {
  return inputBytes * 2.5;
}

/** Where a task has less to do, or needs more room, than others. */
interface TaskBounds {
  readonly rejectedMax?: number;
  readonly outputBytes?: number;
}

/** A task of several requests whose bodies stand one after the other in `input`. */
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

/** A request, or a piece of one, that is a task of its own. */
export function loneTask(
  directory: Directory,
  input: Uint8Array,
  kind: RequestKind,
  bounds?: TaskBounds,
): MapTask {
  const requests = { ends: Uint32Array.of(input.length), kindOf: Uint32Array.of(0), kinds: [kind] };
  return mapTask(directory, input, requests, bounds);
}

/** A block of a result as the log takes it. */
export function frameOf({ buffer }: MapResult, block: MapResult['blocks'][number]): MappedFrame {
  const { offset, length, rows, crc } = block;
  return { rows, payload: new Uint8Array(buffer, offset, length), payloadCrc: crc };
}

/** What became of a request of a task. */
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
