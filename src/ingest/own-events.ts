import { crc32c } from '@node-rs/crc32';
import type { OrganizationFacts } from '../base/events/organization-facts.ts';
import { Problem } from '../base/errors/problem.ts';
import { traced } from '../base/observability/trace.ts';
import { Mapper, type OrgReference } from '../ocsf/audit-event.ts';
import { toWindow } from '../ocsf/byte-text.ts';
import { makeRedaction } from '../ocsf/redact.ts';
import type { Arrivals } from './arrivals.ts';
import type { Idempotency } from './idempotency.ts';
import { BlockBuilder } from './native-block.ts';
import type { WorkerSettings } from './task.ts';
import type { Wal } from './wal.ts';

export interface OwnBlock {
  readonly payload: Uint8Array;
  readonly rows: number;
}

/**
 * Encodes the service's own events (contract: Events) as blocks with the mark `own`. Blocks of bodies are
 * made by worker threads, which cannot set it.
 */
export class OwnEvents {
  readonly #mapper: Mapper;
  readonly #block = new BlockBuilder({ own: true });

  constructor({ appName, ...redaction }: WorkerSettings) {
    // Never "retention passed": an event about a change may be recorded late.
    this.#mapper = new Mapper({ appName, redaction: makeRedaction(redaction), now: () => 0 });
  }

  /**
   * One block without its last column, `seq`. Each event is the JSON of a source event that names its
   * organization by id; `organizationOf` returns undefined for an unknown id. Throws Problem `malformed` if an
   * event is invalid.
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
  accepted(events: number): void;
}

/** Records the service's own events in the log. They are few, so the main thread maps them. */
export class OwnEventRecorder {
  readonly #options: RecorderOptions;
  readonly #events: OwnEvents;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#events = new OwnEvents(options.settings);
  }

  /**
   * Resolves when the event (JSON of a source event) is durable. Rejects with Problem `malformed` if it is
   * invalid, or with a Problem of the log.
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

  /** Stores events once per `name` within 24 hours. Arguments as in `encode`; rejects as `record` does. */
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
