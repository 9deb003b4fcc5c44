import { Mapper, type OrgReference } from '../ocsf/audit-event.ts';
import { toWindow } from '../ocsf/byte-text.ts';
import { alwaysRedacted } from '../ocsf/redact.ts';
import { BlockBuilder } from './native-block.ts';

export interface EncodeOptions {
  readonly appName: string;
  readonly redactKeys: readonly string[];
  /** The organization that an event names by its id; undefined where there is none. */
  readonly organizationOf: (id: string) => OrgReference | undefined;
}

/**
 * A few source events as one Native block without its last column, `seq`: what a worker makes of a body, for events
 * that no body brought. Throws where one is not valid.
 */
export function encodeEvents(
  events: readonly object[],
  { appName, redactKeys, organizationOf }: EncodeOptions,
): { readonly payload: Uint8Array; readonly rows: number } {
  const mapper = new Mapper({ appName, redactKeys: [...alwaysRedacted, ...redactKeys] });
  const block = new BlockBuilder();
  for (const event of events) {
    const window = toWindow(JSON.stringify(event));
    const mapped = mapper.map(
      window,
      0,
      window.text.length,
      (reference) =>
        organizationOf(reference ?? '') ?? '/message/org: is not an organization of this service',
    );
    if (typeof mapped === 'string') throw new Error(mapped);
    block.add(mapped);
  }
  const rows = block.rows();
  const payload = new Uint8Array(block.bytes());
  block.finish(payload, 0);
  return { payload, rows };
}
