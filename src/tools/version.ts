import { readFileSync } from 'node:fs';

/** The version in package.json, which is at the same place for `src` and `dist`. */
export function version(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version;
}
