export interface OrganizationFacts {
  /** UUID, lower case. */
  readonly id: string;
  readonly slug: string;
  /** Undefined: its events do not expire. */
  readonly retentionDays: number | undefined;
}

export interface SharedDirectory {
  readonly version: number;
  readonly json: Uint8Array;
}
