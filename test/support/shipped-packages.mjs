import { readFile } from 'node:fs/promises';

/** Development packages that Vite bundles into the page. */
export const bundled = ['preact', '@preact/signals', '@preact/signals-core'];

/**
 * What of other people's an installation can contain, on any system: from package-lock.json.
 *
 * @returns {Promise<{ path: string, name: string, version: string, license: string | undefined, os: string[] | undefined }[]>}
 */
export async function shippedPackages() {
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8'));
  return Object.entries(packages)
    .map(([path, { name, version, license, os, dev }]) => {
      const installedAs = path.split('node_modules/').at(-1);
      return {
        path,
        name: name ?? installedAs,
        version,
        license,
        os,
        isShipped: dev !== true || bundled.includes(path.slice('node_modules/'.length)),
      };
    })
    .filter(({ path, isShipped }) => path !== '' && isShipped);
}
