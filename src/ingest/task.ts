import type { ProblemCode } from '../base/problem.ts';
import type { ContentEncoding } from './decompress.ts';
import type { BatchAnswer } from './idempotency.ts';

/** What main and worker threads say to each other: a task is many requests, its result a few blocks. */

export type BodyForm = 'json' | 'ndjson';

/** What a worker must know of an organization. */
export interface OrganizationFacts {
  /** UUID, lower case. */
  readonly id: string;
  readonly slug: string;
  readonly retentionDays: number | undefined;
}

export interface TaskRequest {
  readonly body: Uint8Array;
  readonly form: BodyForm;
  readonly encoding: ContentEncoding;
  /** The organization of a key that belongs to one; undefined for a key of all organizations. */
  readonly organization: OrganizationFacts | undefined;
  /** True: its events get blocks of their own and the body is hashed, so that a repeat can be left out whole. */
  readonly apart: boolean;
}

/** All organizations as JSON text in shared memory; workers parse it once a version. */
export interface SharedDirectory {
  readonly version: number;
  readonly json: Uint8Array;
}

export interface Task {
  readonly requests: readonly TaskRequest[];
  /** Present when a request of the task has no organization of its own. */
  readonly directory: SharedDirectory | undefined;
  readonly bodyBytesMax: number;
}

export interface Block {
  readonly offset: number;
  readonly length: number;
  readonly rows: number;
  /** CRC-32C of the block. */
  readonly crc: number;
  /** Index of the request it belongs to; undefined for the rows of all requests that are not apart. */
  readonly request: number | undefined;
}

export type Outcome =
  | { readonly kind: 'answered'; readonly answer: BatchAnswer; readonly bodyHash: string | undefined }
  | { readonly kind: 'problem'; readonly code: ProblemCode; readonly detail: string };

export interface TaskResult {
  readonly buffer: ArrayBuffer;
  readonly blocks: readonly Block[];
  readonly outcomes: readonly Outcome[];
}

/** What a worker is started with. */
export interface WorkerSettings {
  readonly appName: string;
  readonly redactKeys: readonly string[];
}
