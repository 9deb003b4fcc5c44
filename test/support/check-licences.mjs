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

/** System variants of a package share a name: `@scope/name-linux-x64-gnu` is `@scope/name-*`. */
const familyOf = ({ name, os }) =>
  os === undefined ? name : name.replace(/-(android|darwin|freebsd|linux|openharmony|win32)-.*$/, '-*');

const faults = [];
/** `name version` of each package, by licence. */
const byLicence = new Map();
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
  byLicence.set(licence, (byLicence.get(licence) ?? new Set()).add(`${family} ${one.version}`));
}
const byText = (a, b) => (a < b ? -1 : 1);
const sections = [...byLicence]
  .toSorted(([a], [b]) => byText(a, b))
  .map(([licence, names]) => `## ${licence}\n\n${[...names].toSorted(byText).join(',\n')}\n`);
const text = `# Packages of others

This page lists the packages that an installation contains, by licence. \`npm run licences\` makes it from package-lock.json.
A name that ends with \`-*\` has a package for each system, of which one is installed. Each package contains the text of
its licence. \`npm run -s sbom\` prints a bill of materials with hashes and dependencies.

${sections.join('\n')}`;
if (process.argv.includes('--write')) await writeFile(documentPath, text);
else if ((await readFile(documentPath, 'utf8')) !== text)
  faults.push(`${documentPath} is not what package-lock.json says: npm run licences`);
for (const fault of faults) process.stderr.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;
