import type { Settings } from '../storage/storage.ts';

/** What every audit event begins and ends with; the engine writes it around the stored text. */
export interface EventEnvelope {
  readonly head: string;
  readonly tail: string;
}

/** JSON text around stored texts: `before rowBefore text rowAfter , rowBefore text rowAfter after`. */
export interface Envelope {
  readonly before: string;
  readonly rowBefore: string;
  readonly rowAfter: string;
  readonly after: string;
}

/** A line an event: no event holds a raw line break, so the breaks count the events. */
export const between = ',\n';

/**
 * Settings that make `FORMAT CustomSeparated` splice each row from its columns and the texts around them: no event
 * is parsed or built by this process.
 */
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
