import type { Settings } from '../storage/storage.ts';

/** Newest first, then last written first: a total order, since `seq` is unique. */
export const newestFirst = 'ORDER BY org DESC, time DESC, seq DESC';

/** JSON text around stored texts: `before rowBefore text rowAfter , rowBefore text rowAfter after`. */
export interface Framing {
  readonly before: string;
  readonly rowBefore: string;
  readonly rowAfter: string;
  readonly after: string;
}

/** A line an event: no event holds a raw line break, so the breaks count the events. */
const rowBetween = ',\n';

/**
 * Settings that make `FORMAT CustomSeparated` splice each row from its columns and the texts around them: no event
 * is parsed or built by this process.
 */
export function framingSettings({ before, rowBefore, rowAfter, after }: Framing): Settings {
  return {
    format_custom_escaping_rule: 'Raw',
    format_custom_field_delimiter: '',
    format_custom_row_before_delimiter: rowBefore,
    format_custom_row_after_delimiter: rowAfter,
    format_custom_row_between_delimiter: rowBetween,
    format_custom_result_before_delimiter: before,
    format_custom_result_after_delimiter: after,
  };
}
