import { kind, type SourceReading, slot } from '../source-fields.ts';
import { type Constants, type Output, type Range, shared } from './output.ts';
import { isText, putMember, putToken, putRaw, textIn, timeSlotOf } from './tokens.ts';

export interface Ocsf110Names {
  readonly vendorName: string;
  readonly productName: string;
  readonly appName: string;
}

export interface StoredFacts {
  /** The organization's id, a lower-case UUID. */
  readonly organization: string;
  /** Order number as decimal text, and its time (Unix milliseconds). */
  readonly seq: string;
  readonly loggedMs: number;
  readonly timeMicros: number;
}

export function metadataStart(constants: Constants, product: string, logName: string): Range {
  return constants.add(`,"metadata":{"version":"1.1.0","product":${product},"log_name":${logName},"uid":"`);
}

const json = {
  dash: shared.add('-'),
  tenant: shared.add('","tenant_uid":"'),
  code: shared.add('","event_code":"'),
  loggedTime: shared.add('","logged_time":'),
  original: shared.add(',"original_time":"'),
  profiles: shared.add('","profiles":["host"]'),
  noProfiles: shared.add('"'),
  flow: shared.add(',"correlation_uid":"'),
  level: shared.add(',"log_level":"'),
  provider: shared.add(',"log_provider":"'),
  version: shared.add(',"log_version":"'),
  close: shared.add('}'),
};

const nilUuid = '00000000-0000-0000-0000-000000000000';

export function putMetadata(
  out: Output,
  r: SourceReading,
  start: Range,
  { organization, seq, loggedMs }: StoredFacts,
  { code, isHost }: { readonly code: number; readonly isHost: boolean },
): void {
  out.put(start);
  const from = out.length;
  out.text(organization);
  const to = out.length;
  out.put(json.dash);
  out.text(seq);
  out.put(json.tenant);
  out.range(from, to);
  out.put(json.code);
  out.integer(code);
  out.put(json.loggedTime);
  out.integer(loggedMs);
  out.put(json.original);
  const time = timeSlotOf(r);
  if (isText(r, time)) putToken(out, r, time);
  else putRaw(out, r, time);
  // Actors and devices of these classes come from the profile.
  out.put(isHost ? json.profiles : json.noProfiles);
  const flow = textIn(r, slot.flowId)?.toLowerCase();
  if (flow !== undefined && flow !== nilUuid) {
    out.put(json.flow);
    out.text(flow);
    out.quote();
  }
  putMember(out, r, slot.level, json.level);
  putMember(out, r, slot.logProvider, json.provider);
  putMember(out, r, slot.logVersion, json.version);
  out.put(json.close);
}

const timezone = shared.add(',"timezone_offset":');

export function putTimezone(out: Output, r: SourceReading): void {
  const at = timeSlotOf(r);
  if (r.kinds[at] !== kind.text) return;
  const last = out.bytes[(r.ends[at] as number) - 1] as number;
  if ((last | 0x20) === 0x7a) {
    out.put(timezone);
    return out.integer(0);
  }
  const [, sign, hours, minutes] = /([+-])(\d\d):?(\d\d)$/.exec(textIn(r, at) ?? '') ?? [];
  if (sign === undefined) return;
  const offset = Number(hours) * 60 + Number(minutes);
  out.put(timezone);
  out.integer(sign === '-' && offset !== 0 ? -offset : offset);
}
