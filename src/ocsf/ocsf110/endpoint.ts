import { isIPv4, isIPv6 } from 'node:net';
import { ocsfClass, type OcsfClassUid } from '../activity-classes.ts';
import { numberOf, type SourceReading, slot } from '../source-fields.ts';
import { observables } from './observed.ts';
import { type Output, shared } from './output.ts';
import { has, putMember, textIn } from './tokens.ts';

const json = {
  endpoint: shared.add(',"src_endpoint":'),
  device: shared.add(',"device":'),
  ip: shared.add(',"ip":"'),
  hostname: shared.add(',"hostname":"'),
  name: shared.add(',"name":"'),
  unknown: shared.add(',"name":"Unknown"'),
  port: shared.add(',"port":'),
  deviceType: shared.add(',"type_id":0,"type":"Unknown"'),
};

const ipCharactersMax = 40;
/**
 * At least two labels, because a producer's word for a location is often one; the last begins with a letter.
 */
const hostnamePattern =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?\.)+[a-zA-Z](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$/;

const isAddress = (text: string): boolean => isIPv4(text) || (text.length <= ipCharactersMax && isIPv6(text));

/** As an endpoint if the class has one, otherwise as a device. False if the port has no attribute. */
export function putOrigin(out: Output, r: SourceReading, classUid: OcsfClassUid): boolean {
  const isRequired = classUid === ocsfClass.api || classUid === ocsfClass.file;
  const isEndpoint = isRequired || classUid === ocsfClass.account || classUid === ocsfClass.authentication;
  const place = textIn(r, slot.ip);
  const hasPort = has(r, slot.port);
  if (place === undefined && !isRequired && !(isEndpoint && hasPort)) return !hasPort;
  out.put(isEndpoint ? json.endpoint : json.device);
  const start = out.length;
  putPlace(out, r, place, isEndpoint ? observables.endpoint : observables.device);
  if (!isEndpoint) out.put(json.deviceType);
  else if (hasPort) {
    out.put(json.port);
    out.integer(numberOf(r, slot.port) + 0);
  }
  out.closeObject(start);
  return isEndpoint || !hasPort;
}

function putPlace(
  out: Output,
  r: SourceReading,
  place: string | undefined,
  types: typeof observables.endpoint,
): void {
  if (place === undefined) return out.put(json.unknown);
  const isIp = isAddress(place);
  if (!isIp && !hostnamePattern.test(place)) return putMember(out, r, slot.ip, json.name);
  out.put(isIp ? json.ip : json.hostname);
  const start = out.length;
  out.text(place);
  out.observe(isIp ? types.ip : types.hostname, start, out.length);
  out.quote();
}
