import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { shippedPackages } from './shipped-packages.mjs';

/**
 * Compares third-party binaries with native-binaries.json (SHA-256 of each file, and the package's reason);
 * `npm test` begins with it. package-lock.json checks packages only on installation.
 *
 * `--write` records the installed ones. Entries of other systems stay until the same is run there.
 */
const listPath = 'native-binaries.json';
const binary = /\.(node|so(\.\d+)*|dylib|dll|wasm|exe)$/;

async function hashOf(path) {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

/** @returns {Promise<string[]>} paths of binaries below a folder, but not in packages that are inside of it */
async function binariesIn(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && binary.test(entry.name))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll(sep, '/'))
    .filter((path) => !path.startsWith('node_modules/'))
    .toSorted();
}

/** Packages that are installed and have binaries. */
async function* packagesWithBinaries() {
  for (const one of await shippedPackages()) {
    if (!existsSync(one.path)) continue;
    const files = {};
    for (const file of await binariesIn(one.path)) files[file] = await hashOf(join(one.path, file));
    if (Object.keys(files).length > 0) yield { ...one, files };
  }
}

/** @returns {string[]} differences from the entry */
function faultsOf({ name, version, files }, entry) {
  if (entry.version !== version)
    return [`${name} is version ${version}, and ${entry.version} in ${listPath}`];
  return Object.entries(files)
    .filter(([file, hash]) => entry.files[file] !== hash)
    .map(([file]) => `${name}/${file} is not the file that ${listPath} says`);
}

const list = JSON.parse(await readFile(listPath, 'utf8'));
const isWrite = process.argv.includes('--write');
const faults = [];
let looked = 0;
for await (const found of packagesWithBinaries()) {
  const { name, version, files, os } = found;
  if (isWrite) list[name] = { why: list[name]?.why ?? '', version, files };
  const entry = list[name];
  looked += Object.keys(files).length;
  if (entry !== undefined) {
    if (entry.why === '') faults.push(`${listPath} does not say why ${name} is there`);
    faults.push(...faultsOf(found, entry));
  } else if (os !== undefined)
    process.stdout.write(`${listPath} knows nothing of ${name}: package-lock.json alone vouches for it\n`);
  else faults.push(`${name} has compiled code and is not in ${listPath}`);
}
if (isWrite) {
  const sorted = Object.entries(list).toSorted(([a], [b]) => (a < b ? -1 : 1));
  await writeFile(listPath, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
}
for (const fault of faults) process.stderr.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;
else process.stdout.write(`${looked} binaries are as ${listPath} says\n`);
