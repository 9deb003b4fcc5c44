import { readFile, writeFile } from 'node:fs/promises';
import { shippedPackages } from './shipped-packages.mjs';

/**
 * Compares THIRD-PARTY.md with package-lock.json, and the licences with the allowed ones; run by `npm run
 * check`. `--write` rewrites the document.
 */
const documentPath = 'THIRD-PARTY.md';
/** MPL-2.0 requires the sources of its files, which each package contains. */
const allowed = new Set([
  'MIT',
  'ISC',
  'BSD-3-Clause',
  'Apache-2.0',
  '(Apache-2.0 AND BSD-3-Clause)',
  'MPL-2.0',
]);

/** System variants of a package share a line: `@scope/name-linux-x64-gnu` is `@scope/name-*`. */
const familyOf = ({ name, os }) =>
  os === undefined ? name : name.replace(/-(android|darwin|freebsd|linux|openharmony|win32)-.*$/, '-*');

const faults = [];
const lines = new Map();
const packages = await shippedPackages();
const familyLicences = new Map(
  packages.map((one) => [familyOf(one), one.license]).filter(([, licence]) => licence),
);
for (const one of packages) {
  const family = familyOf(one);
  // The lock file has licences only of packages installed where it was made.
  const licence = one.license ?? familyLicences.get(family);
  if (!allowed.has(licence))
    faults.push(`${one.name}: is the licence ${licence} one that may be shipped with ours?`);
  lines.set(`${family} ${one.version}`, `| ${family} | ${one.version} | ${licence} |`);
}
const text = `# Packages of others

What an installation contains besides the code of this project, made of package-lock.json by \`npm run licences\`. A name that
ends with \`-*\` stands for one package for each system, of which one is installed. \`npm run sbom\` prints all of them as a
bill of materials in CycloneDX's format, with their hashes and how they depend on each other. The text of each licence is in its
package.

| package | version | licence |
|---|---|---|
${[...lines.values()].toSorted((a, b) => (a < b ? -1 : 1)).join('\n')}
`;
if (process.argv.includes('--write')) await writeFile(documentPath, text);
else if ((await readFile(documentPath, 'utf8')) !== text)
  faults.push(`${documentPath} is not what package-lock.json says: npm run licences`);
for (const fault of faults) process.stderr.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;
