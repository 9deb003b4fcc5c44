export interface SegmentInsert {
  /** Its name in the log, for operators. */
  readonly segment: number;
  readonly rows: number;
  /** Numbers of earlier attempts, which may have stored rows. */
  readonly earlier: readonly number[];
  readonly isDamaged: boolean;
  /**
   * Reserves a durable number for this attempt. `stored` are earlier numbers with rows in the table; the
   * others can no longer get rows.
   */
  take(stored: readonly number[]): Promise<number>;
  body(number: number): readonly Uint8Array[];
}

/**
 * `stored`: every row is in the table, once. `refused`: the engine will never accept this content. A
 * rejection: outcome unknown.
 */
export type SegmentSink = (insert: SegmentInsert) => Promise<'stored' | 'refused'>;
