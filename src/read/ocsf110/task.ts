import type { Ocsf110Names } from '../../ocsf/ocsf110/metadata.ts';

export type Ocsf110Settings = Ocsf110Names;

export interface Around {
  readonly before: string;
  readonly between: string;
  readonly after: string;
}

/** As the engine returns them (rows.ts). Both buffers belong to the task. */
export interface Ocsf110Task {
  readonly organization: string;
  readonly rows: Uint8Array<ArrayBuffer>;
  readonly around: Around;
  readonly output: ArrayBuffer;
}

export interface Ocsf110Result {
  readonly events: Uint8Array<ArrayBuffer>;
  readonly input: ArrayBuffer;
}
