import type { Readable } from 'node:stream';
import type { SourceEvent } from './event.ts';

export interface PageRequest {
  readonly limit: number;
  readonly offset: number;
  readonly actor: string | undefined;
  readonly flowId: string | undefined;
}

/** Store of a peer's events and digests of API keys. */
export interface Store {
  addKey(digest: string, organization: string): Promise<void>;
  organizationOf(digest: string): Promise<string | undefined>;
  /** Resolves once the events are on the disk. */
  append(organization: string, events: readonly SourceEvent[]): Promise<void>;
  /** Events as JSON text, newest first, and how many match. */
  page(
    organization: string,
    request: PageRequest,
  ): Promise<{ readonly events: readonly string[]; readonly total: number }>;
  /** Every event, newest first. */
  csv(organization: string): Promise<Readable>;
}
