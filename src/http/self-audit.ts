import type { Clock } from '../base/time/clock.ts';
import type { Logger } from '../base/observability/log.ts';
import { type EventOrigin, eventText, type ServiceEvent } from '../control/change-events.ts';
import type { Ingest } from '../ingest/ingest.ts';
import { unavailable } from '../ingest/disk-health.ts';
import type { OrganizationLookup } from './authenticate.ts';
import type { RequestContext } from './request-context.ts';
import { type PreparedEvent, SelfAuditRetries } from './self-audit-retries.ts';

export interface SelfAuditDeps extends Pick<Ingest, 'recordOwn' | 'logFailure'> {
  readonly organizationOf: OrganizationLookup;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Records what the service itself does as audit events, which have the mark of its own (contract: Sessions).
 *
 * What may still be left undone is done only once `recordBefore` has made its event durable: a login gives its cookie,
 * an export its first byte, after that. A failed login has happened: `recordAfter` holds its event until the log takes it. Changes
 * are not recorded here: they have their events in the journal.
 */
export class SelfAudit {
  readonly #deps: SelfAuditDeps;
  readonly #retries: SelfAuditRetries;

  constructor(deps: SelfAuditDeps) {
    this.#deps = deps;
    this.#retries = new SelfAuditRetries((event) => this.#send(event), deps.log);
  }

  /** Resolves once the event is durable. Rejects with Problem `unavailable`, and then the event does not exist. */
  async recordBefore(event: ServiceEvent, origin: EventOrigin): Promise<void> {
    try {
      await this.#send(this.#prepare(event, origin));
    } catch (error) {
      throw unavailable('This cannot be recorded now, so it was not done; try again later.', error);
    }
  }

  /** As `recordBefore`, for what has happened already: an event that cannot be recorded now is held and retried. */
  async recordAfter(event: ServiceEvent, origin: EventOrigin): Promise<void> {
    const prepared = this.#prepare(event, origin);
    try {
      await this.#send(prepared);
    } catch (error) {
      this.#retries.hold(prepared, error);
      const detail = 'This was done, but it is not recorded yet; nothing can be changed until it is.';
      throw unavailable(detail, error);
    }
  }

  /** Tries what is held once more; what is left is reported in the operational log and lost. */
  stop(): Promise<void> {
    return this.#retries.stop();
  }

  #prepare(event: ServiceEvent, origin: EventOrigin): PreparedEvent {
    const { organizationId, code: activity, target } = event;
    const text = eventText(event, this.#deps.clock(), origin);
    const facts = { organization: organizationId, activity, target: target?.id, flow_id: origin.flowId };
    return { organizationId, text, facts };
  }

  async #send({ organizationId, text }: PreparedEvent): Promise<void> {
    const organization = this.#deps.organizationOf(organizationId);
    if (organization === undefined) throw new Error('the organization of an event does not exist any more');
    await this.#deps.recordOwn(organization, text);
  }
}

/** Where a request came from; every event of the same request gets the same flow id. */
export function selfAuditOrigin({ head, flowId }: Pick<RequestContext, 'head' | 'flowId'>): EventOrigin {
  return { ip: head.ip, port: head.port, flowId };
}
