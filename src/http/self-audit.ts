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
 * An action that can still be refused waits for `recordBefore`: a login before its cookie, an export before its first byte. A
 * failed login has happened: `recordAfter`. The journal records changes (contract: Sessions).
 */
export class SelfAudit {
  readonly #deps: SelfAuditDeps;
  readonly #retries: SelfAuditRetries;

  constructor(deps: SelfAuditDeps) {
    this.#deps = deps;
    this.#retries = new SelfAuditRetries((event) => this.#send(event), deps.log);
  }

  /** Rejects with Problem `unavailable` if the event does not exist. */
  async recordBefore(event: ServiceEvent, origin: EventOrigin): Promise<void> {
    try {
      await this.#send(this.#prepare(event, origin));
    } catch (error) {
      throw unavailable('The action could not be recorded, so it was not done; try again later.', error);
    }
  }

  /** A failed event is queued and retried. */
  async recordAfter(event: ServiceEvent, origin: EventOrigin): Promise<void> {
    const prepared = this.#prepare(event, origin);
    try {
      await this.#send(prepared);
    } catch (error) {
      this.#retries.hold(prepared, error);
      const detail = 'The action was done, but is not recorded yet; changes are refused until it is.';
      throw unavailable(detail, error);
    }
  }

  /** Retries the queue once; the rest is reported in the operational log and lost. */
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
    if (organization === undefined) throw new Error('the organization of the event no longer exists');
    await this.#deps.recordOwn(organization, text);
  }
}

export function selfAuditOrigin({ head, flowId }: Pick<RequestContext, 'head' | 'flowId'>): EventOrigin {
  return { ip: head.ip, port: head.port, flowId };
}
