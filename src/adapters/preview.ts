import { Mapper, type MappedEvent } from '../ocsf/audit-event.ts';
import { fromByteText, byteWindow } from '../ocsf/byte-text.ts';
import { eventHead, eventTail, type ProductNames } from '../ocsf/envelope.ts';
import { Ocsf110Mapper } from '../ocsf/ocsf110/ocsf110-event.ts';
import { makeRedaction, type RedactionSettings } from '../ocsf/redact.ts';

export interface PreviewOptions extends ProductNames, RedactionSettings {
  readonly appName: string;
}

interface ActivityClassName {
  readonly class_uid: number;
  readonly class_name: string;
  readonly activity_id: number;
  readonly activity_name: string;
}

export interface Previewed {
  readonly auditEvent: string;
  /** Undefined if the source event has none. */
  readonly target: unknown;
  readonly activityClass: ActivityClassName;
}

/** Renders a source event as it would be read back, without storing it. Organizations are unknown here. */
export class Preview {
  readonly #mapper: Mapper;
  readonly #ocsf110: Ocsf110Mapper;
  readonly #tail: string;

  constructor({ appName, redactKeys, redactValues, ...names }: PreviewOptions) {
    this.#mapper = new Mapper({ appName, redaction: makeRedaction({ redactKeys, redactValues }) });
    this.#ocsf110 = new Ocsf110Mapper({ ...names, appName });
    this.#tail = eventTail(names);
  }

  /** The refusal is `<JSON pointer>: <rule>`. */
  of(event: Buffer): Previewed | { readonly refused: string } {
    const mapped = this.#mapper.map(byteWindow(event), 0, event.length, (id) => ({
      id: id === undefined ? 'unknown' : fromByteText(id),
      retentionDays: undefined,
    }));
    if (typeof mapped === 'string') return { refused: mapped };
    const source = JSON.parse(textOf(mapped.source)) as { readonly message: { readonly target?: unknown } };
    return {
      auditEvent: `${eventHead}${textOf(mapped.ocsf)}"logged_time":${Date.now() * 1000}${this.#tail}`,
      target: source.message.target,
      activityClass: this.#classOf(mapped),
    };
  }

  #classOf({ source, timeMicros }: MappedEvent): ActivityClassName {
    const bytes = source.bytes.subarray(source.start, source.end);
    const facts = { organization: nilUuid, seq: '0', loggedMs: Date.now(), timeMicros };
    this.#ocsf110.open(bytes);
    this.#ocsf110.map(0, bytes.length, facts);
    const event = JSON.parse(Buffer.from(this.#ocsf110.events()).toString('utf8')) as ActivityClassName;
    const { class_uid, class_name, activity_id, activity_name } = event;
    return { class_uid, class_name, activity_id, activity_name };
  }
}

const nilUuid = '00000000-0000-0000-0000-000000000000';

function textOf({ bytes, start, end }: MappedEvent['ocsf']): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
}
