import type { StandardNames } from '../../ocsf/standard/metadata.ts';

/** What a thread that maps stored events begins with. */
export type StandardSettings = StandardNames;

/** Texts around the events of a task: before the first one, between two, behind the last one. ASCII. */
export interface Around {
  readonly before: string;
  readonly between: string;
  readonly after: string;
}

/** Rows to be mapped: whole ones, as the engine gives them (see rows.ts). Both buffers belong to the task. */
export interface StandardTask {
  /** The organization of all rows: a lower-case UUID. */
  readonly organization: string;
  readonly rows: Uint8Array<ArrayBuffer>;
  readonly around: Around;
  /** For the result, if it is large enough. */
  readonly output: ArrayBuffer;
}

/** The events; `input` comes back to be used again. */
export interface StandardResult {
  readonly events: Uint8Array<ArrayBuffer>;
  readonly input: ArrayBuffer;
}
