/** Receives the content of a request. Either may throw: then reading stops. */
export interface ExportSink {
  /** A record, a list of records or of such lists, or in JSON an attribute: empty ones take work too. */
  element(): void;
  /** A log record with its resource and scope, as one line of JSON. */
  record(text: string): void;
}
