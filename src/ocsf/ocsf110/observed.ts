import { type Output, type Range, shared } from './output.ts';

/** Up to its value. The type is 99 with a caption, which every validator accepts: OCSF's files list only 0 and 99. */
function observable(name: string, type: string): Range {
  return shared.add(`,{"name":"${name}","type_id":99,"type":"${type}","value":"`);
}

const userObservables = (path: string) => ({
  name: observable(`${path}.name`, 'User Name'),
  email: observable(`${path}.email_addr`, 'Email Address'),
});

const endpointObservables = (path: string) => ({
  ip: observable(`${path}.ip`, 'IP Address'),
  hostname: observable(`${path}.hostname`, 'Hostname'),
});

export const observables = {
  actor: userObservables('actor.user'),
  user: userObservables('user'),
  endpoint: endpointObservables('src_endpoint'),
  device: endpointObservables('device'),
  fileName: observable('file.name', 'File Name'),
  fileHash: observable('file.hashes.value', 'Hash'),
};

const opening = shared.add(',"observables":');
const valueEnd = shared.add('"}');
const closeList = shared.add(']');
const openBracket = 0x5b;

export function putObservables(out: Output): void {
  const { observed } = out;
  if (observed.length === 0) return;
  out.put(opening);
  const start = out.length;
  for (let at = 0; at < observed.length; at += 3) {
    out.put(observed[at] as Range);
    out.range(observed[at + 1] as number, observed[at + 2] as number);
    out.put(valueEnd);
  }
  out.bytes[start] = openBracket;
  out.put(closeList);
  observed.length = 0;
}
