/** An attempt to store a segment of the log: the body of one INSERT in Native format. */
export interface SegmentInsert {
  /** Its name in the log, for operators. */
  readonly segment: number;
  readonly rows: number;
  /** Numbers of earlier attempts, which may have stored rows. */
  readonly earlier: readonly number[];
  /** Rows are unreadable that an earlier attempt may have stored. */
  readonly isDamaged: boolean;
  /**
   * Takes a durable number for this attempt. `stored` are the earlier ones with rows in the table; no more rows can
   * come under the others.
   */
  take(stored: readonly number[]): Promise<number>;
  /** The rows with their places in the order, under a number. */
  body(number: number): readonly Uint8Array[];
}

/**
 * `stored`: every row is in the table, once. `refused`: the engine never takes this content. A rejection: not now,
 * outcome unknown.
 */
export type SegmentSink = (insert: SegmentInsert) => Promise<'stored' | 'refused'>;
