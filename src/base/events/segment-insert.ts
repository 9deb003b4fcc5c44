/** A segment as the engine gets it: the body of one INSERT in Native format. */
export interface SegmentInsert {
  readonly number: number;
  readonly rows: number;
  readonly body: readonly Uint8Array[];
  /** True when an earlier attempt may have stored some or all of it: the table must be asked first. */
  readonly doubtful: boolean;
  /** True when rows of it cannot be read any more, that an earlier attempt may have stored. */
  readonly isDamaged: boolean;
}

/**
 * Where segments go. `stored`: every row is in the table, once. `refused`: the engine will not take this content
 * however often it is sent. A rejection means: not now, and whether it took effect is unknown.
 */
export type SegmentSink = (insert: SegmentInsert) => Promise<'stored' | 'refused'>;
