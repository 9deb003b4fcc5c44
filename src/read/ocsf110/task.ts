import type { Ocsf110Names } from '../../ocsf/ocsf110/metadata.ts';

/** What a thread that maps stored events begins with. */
export type Ocsf110Settings = Ocsf110Names;

/** Texts around the events of a task: before the first one, between two, behind the last one. ASCII. */
export interface Around {
  readonly before: string;
  readonly between: string;
  readonly after: string;
}

/** Rows to be mapped: whole ones, as the engine gives them (see rows.ts). Both buffers belong to the task. */
export interface Ocsf110Task {
  /** The organization of all rows: a lower-case UUID. */
  readonly organization: string;
  readonly rows: Uint8Array<ArrayBuffer>;
  readonly around: Around;
  /** For the result, if it is large enough. */
  readonly output: ArrayBuffer;
}

/** The events; `input` comes back to be used again. */
export interface Ocsf110Result {
  readonly events: Uint8Array<ArrayBuffer>;
  readonly input: ArrayBuffer;
}
