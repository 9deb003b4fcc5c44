import type { Settings } from '../storage/storage.ts';

/** Constant begin and end of every audit event, which the engine writes around the stored text. */
export interface EventEnvelope {
  readonly head: string;
  readonly tail: string;
}

export interface Envelope {
  readonly before: string;
  readonly rowBefore: string;
  readonly rowAfter: string;
  readonly after: string;
}

/** One line per event: events have no raw line breaks, so counting breaks counts events. */
export const between = ',\n';

/** The engine joins columns and texts (`FORMAT CustomSeparated`), so this process neither parses nor builds events. */
export function envelopeSettings({ before, rowBefore, rowAfter, after }: Envelope): Settings {
  return {
    format_custom_escaping_rule: 'Raw',
    format_custom_field_delimiter: '',
    format_custom_row_before_delimiter: rowBefore,
    format_custom_row_after_delimiter: rowAfter,
    format_custom_row_between_delimiter: between,
    format_custom_result_before_delimiter: before,
    format_custom_result_after_delimiter: after,
  };
}
