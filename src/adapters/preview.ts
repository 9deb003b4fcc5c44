import { Mapper, type MappedEvent } from '../ocsf/audit-event.ts';
import { fromByteText, windowOf } from '../ocsf/byte-text.ts';
import { eventHead, eventTail, type ProductNames } from '../ocsf/envelope.ts';
import { redactionOf, type RedactionSettings } from '../ocsf/redact.ts';

export interface PreviewOptions extends ProductNames, RedactionSettings {
  readonly appName: string;
}

/** What a source event would be read back as, without storing it. Which organizations there are is not known here. */
export class Preview {
  readonly #mapper: Mapper;
  readonly #tail: string;

  constructor({ appName, redactKeys, redactValues, ...names }: PreviewOptions) {
    this.#mapper = new Mapper({ appName, redaction: redactionOf({ redactKeys, redactValues }) });
    this.#tail = eventTail(names);
  }

  /** The audit event as JSON, or why the source event is refused: `refused` has `<JSON pointer>: <rule>`. */
  of(event: Buffer): { readonly auditEvent: string } | { readonly refused: string } {
    const mapped = this.#mapper.map(windowOf(event), 0, event.length, (id) => ({
      id: id === undefined ? 'unknown' : fromByteText(id),
      retentionDays: undefined,
    }));
    if (typeof mapped === 'string') return { refused: mapped };
    return {
      auditEvent: `${eventHead}${textOf(mapped.ocsf)}"logged_time":${Date.now() * 1000}${this.#tail}`,
    };
  }
}

function textOf({ bytes, start, end }: MappedEvent['ocsf']): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
}
