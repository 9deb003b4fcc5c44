/** What the service itself does that an organization must be able to see (contract: Sessions, last paragraph). */
export interface TrailEvent {
  readonly organizationId: string;
  /** A code of the activity registry. */
  readonly action: { readonly code: number; readonly title: string };
  readonly level: 'INFO' | 'WARN' | 'ERROR';
  readonly message: string;
  readonly actor: { readonly id?: string; readonly name?: string; readonly email?: string; readonly type: string };
  readonly target?: { readonly id?: string; readonly name?: string; readonly type: string };
  readonly result: { readonly title: string; readonly code: number };
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** Where the request came from, and what ties several events of one request together. */
export interface TrailOrigin {
  readonly ip: string;
  readonly port: string;
  readonly flowId: string;
}

/**
 * Records an event on the same path as any producer's; resolves once it is durable. A failure rejects with a Problem
 * (503): the change that it is about has then already been made.
 */
export type Trail = (event: TrailEvent, origin: TrailOrigin) => Promise<void>;
