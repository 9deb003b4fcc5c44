/** An attempt to store a segment of the log: the body of one INSERT in Native format. */
export interface SegmentInsert {
  /** Its name in the log, for operators. */
  readonly segment: number;
  readonly rows: number;
  /** The numbers of earlier attempts that may have stored some or all of it: the table must be asked first. */
  readonly earlier: readonly number[];
  /** True when rows of it cannot be read any more, that an earlier attempt may have stored. */
  readonly isDamaged: boolean;
  /**
   * The number of the attempt that begins now, durable. `stored` are those of the earlier ones that have rows in the
   * table; under the others nothing comes any more.
   */
  take(stored: readonly number[]): Promise<number>;
  /** The rows with their places in the order, under a number. */
  body(number: number): readonly Uint8Array[];
}

/**
 * Where segments go. `stored`: every row is in the table, once. `refused`: the engine will not take this content
 * however often it is sent. A rejection means: not now, and whether it took effect is unknown.
 */
export type SegmentSink = (insert: SegmentInsert) => Promise<'stored' | 'refused'>;
