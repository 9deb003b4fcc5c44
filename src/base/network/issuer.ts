import { isIP } from 'node:net';

const issuerCharactersMax = 1_000;

export const issuerWords =
  'an https:// address (http:// on this machine alone) without user, password, query, fragment and .well-known';

/** The library would not compare the issuer if the address leads to a document. */
export function isIssuer(text: string): boolean {
  if (!URL.canParse(text) || /\s/.test(text) || text.length > issuerCharactersMax) return false;
  const url = new URL(text);
  const isPlain = [url.username, url.password, url.search, url.hash].every((part) => part === '');
  return isPlain && !url.pathname.includes('/.well-known/') && (url.protocol === 'https:' || isLoopback(url));
}

/** Plain HTTP that stays on this machine. */
export function isLoopback({ protocol, hostname }: URL): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const isHere = host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
  return protocol === 'http:' && isHere;
}
