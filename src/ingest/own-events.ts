import { crc32c } from '@node-rs/crc32';
import type { OrganizationFacts } from '../base/events/organization-facts.ts';
import { Problem } from '../base/errors/problem.ts';
import { traced } from '../base/observability/trace.ts';
import { Mapper, type OrgReference } from '../ocsf/audit-event.ts';
import { toWindow } from '../ocsf/byte-text.ts';
import { redactionOf } from '../ocsf/redact.ts';
import type { Arrivals } from './arrivals.ts';
import type { Idempotency } from './idempotency.ts';
import { BlockBuilder } from './native-block.ts';
import type { WorkerSettings } from './task.ts';
import type { Wal } from './wal.ts';

/** Events as the table gets them, without their places in the order. */
export interface OwnBlock {
  readonly payload: Uint8Array;
  readonly rows: number;
}

/**
 * What the service itself says (contract: Events): source events that no body brought, as a block whose rows have the mark
 * `own`. Nothing else makes such rows; bodies go to the worker threads, whose blocks cannot have it.
 */
export class OwnEvents {
  readonly #mapper: Mapper;
  readonly #block = new BlockBuilder({ own: true });

  constructor({ appName, ...redaction }: WorkerSettings) {
    // What a change says may be recorded late: it is taken even where the retention has passed meanwhile.
    this.#mapper = new Mapper({ appName, redaction: redactionOf(redaction), now: () => 0 });
  }

  /**
   * Events as one block without its last column, `seq`; each is the JSON of a source event that names its organization by the id.
   * `organizationOf` is undefined where there is none. Throws Problem `malformed` where an event is not valid.
   */
  encode(events: readonly string[], organizationOf: (id: string) => OrgReference | undefined): OwnBlock {
    this.#block.reset();
    for (const event of events) {
      const window = toWindow(event);
      const mapped = this.#mapper.map(
        window,
        0,
        window.bytes.length,
        (reference) =>
          organizationOf(reference ?? '') ?? '/message/org: is not an organization of this service',
      );
      if (typeof mapped === 'string') throw new Problem('malformed', mapped);
      this.#block.add(mapped);
    }
    const rows = this.#block.rows();
    const payload = new Uint8Array(this.#block.bytes());
    this.#block.finish(payload, 0);
    return { payload, rows };
  }
}

interface RecorderOptions {
  readonly settings: WorkerSettings;
  readonly wal: Pick<Wal, 'append'>;
  readonly arrivals: Arrivals;
  readonly idempotency: Idempotency;
  /** Called for each durable event, for metrics. */
  accepted(events: number): void;
}

/**
 * Records what the service says in the log, past everything that bodies go through: there are few such events, so they are
 * mapped where they are made.
 */
export class OwnEventRecorder {
  readonly #options: RecorderOptions;
  /** Made at the start: it compiles the schema, for which nobody should have to wait. */
  readonly #events: OwnEvents;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#events = new OwnEvents(options.settings);
  }

  /**
   * Resolves when the event, the JSON of a source event of the organization, is durable. Rejects with Problem `malformed` where it
   * is not valid, or with a Problem of the log.
   */
  async record(organization: OrganizationFacts, event: string): Promise<void> {
    const { wal, arrivals, accepted } = this.#options;
    const { id } = organization;
    const { payload, rows } = this.#events.encode([event], (named) =>
      named === id ? organization : undefined,
    );
    const frame = { rows, payload, payloadCrc: crc32c(payload), notes: '' };
    await arrivals.during(new Set([id]), () => traced('log', () => wal.append([frame], id, 'service')));
    accepted(rows);
  }

  /**
   * Stores events, each the JSON of a source event that names its organization by the id, unless those of this name were stored within
   * the last 24 hours. `organizationOf` must know each. Rejects as `record`.
   */
  async recordOnce(
    name: string,
    events: readonly string[],
    organizationOf: (id: string) => OrgReference | undefined,
  ): Promise<void> {
    const { wal, arrivals, idempotency, accepted } = this.#options;
    const id = idempotency.id('', name);
    if (idempotency.entry(id) !== undefined) return;
    const { payload, rows } = this.#events.encode(events, organizationOf);
    const notes = idempotency.notes(id, id, { accepted: rows, rejected: 0, errors: [] });
    const frame = { rows, payload, payloadCrc: crc32c(payload), notes };
    await arrivals.during(new Set([undefined]), () => wal.append([frame], undefined, 'service'));
    idempotency.remember(notes);
    accepted(rows);
  }
}
