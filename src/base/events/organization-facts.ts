/** What ingest and its workers must know of an organization. */
export interface OrganizationFacts {
  /** UUID, lower case. */
  readonly id: string;
  readonly slug: string;
  /** Undefined: its events are kept for ever. */
  readonly retentionDays: number | undefined;
}

export interface SharedDirectory {
  readonly version: number;
  readonly json: Uint8Array;
}
