/** Takes what a request holds. Either may throw: then nothing more is read. */
export interface ExportSink {
  /** A record, a list of records or of such lists, or in JSON an attribute, has been found: empty ones take work too. */
  element(): void;
  /** A log record with its resource and scope, as one line of JSON. */
  record(text: string): void;
}
