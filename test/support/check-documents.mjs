import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, normalize } from 'node:path';

/**
 * Compares the documents with the sources and each other; run by `npm run check`.
 *
 * - Each `(contract: Section, section)` of a comment names sections of docs/contract.md or the pages after it.
 * - Relative links lead to a file, and to a heading if they name one.
 * - Files in ARCHITECTURE.md and READMEs exist; the table of folders is that of .dependency-cruiser.cjs; each package has its
 *   reason.
 * - Metrics in documents exist, and pages in sources.
 * - docs/README.md lists every page.
 * - No page is long, and README.md is short.
 */
const linesMax = { 'README.md': 160 };
const pageLinesMax = 200;
const contractPages = ['docs/contract.md', 'docs/contract-events.md', 'docs/contract-operation.md'];

async function filesOf(folder, ending) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** @returns {string[]} the headings of a document, without those inside of code */
function headings(text) {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, title]) => title);
}

/** The anchor of a heading in links. */
const anchorOf = (title) =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

async function contractFaults() {
  const pages = await Promise.all(contractPages.map((page) => readFile(page, 'utf8')));
  const sections = new Set(pages.flatMap(headings));
  const files = await Promise.all(['src', 'test', 'bench'].map((folder) => filesOf(folder, '.ts')));
  const faults = [];
  let references = 0;
  for (const file of files.flat()) {
    const text = await readFile(file, 'utf8');
    for (const [, names] of text.matchAll(/\(contract:([^)]*)\)/g)) {
      references++;
      for (const name of names.replaceAll(/\s*\n\s*(\*|\/\/)?\s*/g, ' ').split(','))
        if (!sections.has(name.trim())) faults.push(`${file}: the contract has no section "${name.trim()}"`);
    }
  }
  return references > 0 ? faults : ['no comment points to the contract: is the pattern still right?'];
}

async function linkFaults(documents) {
  const texts = new Map();
  for (const document of documents) texts.set(document, await readFile(document, 'utf8'));
  const faults = [];
  for (const [document, text] of texts) {
    for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? document : normalize(join(dirname(document), path));
      const linked = texts.get(file) ?? (await readFile(file, 'utf8').catch(() => undefined));
      const found =
        anchor === undefined || headings(linked ?? '').some((title) => anchorOf(title) === anchor);
      if (linked === undefined || !found) faults.push(`${document}: ${target} leads nowhere`);
    }
  }
  return faults;
}

/** Source files named by a document: by path or end of path, in a folder's README relative to it. */
async function namedFileFaults(document) {
  const files = await Promise.all(['src', 'test', 'bench', 'web'].map((folder) => filesOf(folder, '.ts')));
  const folder = document.startsWith('src/') ? `${dirname(document)}/` : '';
  const isNamed = (file, name) =>
    `/${file}`.endsWith(`/${name}`) && (name.includes('/') || file.startsWith(folder));
  const named = [...(await readFile(document, 'utf8')).matchAll(/`([\w./-]+\.ts)`/g)].map(([, name]) => name);
  return named
    .filter((name) => !files.flat().some((file) => isNamed(file, name)))
    .map((name) => `${document}: there is no ${name}`);
}

/** Each package has its reason. */
async function packageFaults(text) {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(
    await readFile('package.json', 'utf8'),
  );
  const named = new Set(text.match(/[@\w./-]+/g));
  return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })
    .filter((name) => !named.has(name))
    .map((name) => `ARCHITECTURE.md has no reason for the package ${name}`);
}

/** Compares the rows `| src/folder | … | a, b |` with the linter of layers. */
function arrowFaults(text) {
  const { allowed } = createRequire(import.meta.url)('../../.dependency-cruiser.cjs');
  const rules = allowed.flatMap(({ from, to }) => {
    const folder = /^\^src\/([\w-]+)\/$/.exec(from.path)?.[1];
    const [own, ...others] = /\(([\w|-]+)\)/.exec(to.path ?? '')?.[1]?.split('|') ?? [];
    return folder === own && folder !== undefined ? [`${folder}: ${others.toSorted().join(', ')}`] : [];
  });
  const rows = [...text.matchAll(/^\| `src\/([\w-]+)` \|.*\| ([\w, –-]+) \|$/gm)].map(
    ([, folder, others]) => `${folder}: ${others.replace('–', '').split(', ').toSorted().join(', ')}`,
  );
  if (rules.length === 0) return ['.dependency-cruiser.cjs has no rule by folder any more'];
  return [
    ...rules
      .filter((rule) => !rows.includes(rule))
      .map((rule) => `ARCHITECTURE.md has not the arrows ${rule}`),
    ...rows.filter((row) => !rules.includes(row)).map((row) => `.dependency-cruiser.cjs has not ${row}`),
  ];
}

/** Metrics are quoted where they are defined. */
async function metricFaults(documents) {
  const sources = (await filesOf('src', '.ts')).map((file) => readFile(file, 'utf8'));
  const made = new Set(
    [...(await Promise.all(sources)).join('\n').matchAll(/'(auditlog_[a-z_]+)'/g)].map(([, name]) => name),
  );
  const texts = documents.map(async (document) => [document, await readFile(document, 'utf8')]);
  const named = (await Promise.all(texts)).flatMap(([document, text]) =>
    [...text.matchAll(/\bauditlog_[a-z_]+/g)].map(([name]) => ({ document, name })),
  );
  if (named.length === 0) return ['no document names a metric: is the pattern still right?'];
  return named
    .filter(({ name }) => !made.has(name))
    .map(({ document, name }) => `${document}: there is no metric ${name}`);
}

/** Messages, comments and alerts name pages. */
async function namedPageFaults() {
  const files = await Promise.all(
    ['src', 'test', 'bench', 'web', 'deploy'].map((folder) => filesOf(folder, '')),
  );
  const faults = [];
  for (const file of files.flat().filter((name) => /\.(ts|js|mjs|ya?ml|service|cfg)$/.test(name)))
    for (const [page] of (await readFile(file, 'utf8')).matchAll(/\bdocs\/(?:recipes\/)?[\w-]+\.md\b/g))
      if (!(await readFile(page, 'utf8').catch(() => ''))) faults.push(`${file}: there is no ${page}`);
  // Readers of a message are seldom in the project's directory.
  for (const file of files.flat().filter((name) => /^src.*\.ts$/.test(name)))
    for (const line of (await readFile(file, 'utf8')).split('\n'))
      if (/^(?!\s*(\*|\/[/*])).*(?<!projectFile\(')docs\/[\w-]+\.md/.test(line))
        faults.push(`${file}: messages name pages by projectFile('docs/…')`);
  return faults;
}

async function indexFaults() {
  const index = await readFile('docs/README.md', 'utf8');
  return (await readdir('docs'))
    .filter((name) => name.endsWith('.md') && name !== 'README.md' && !index.includes(`](${name}`))
    .map((name) => `docs/README.md does not list ${name}`);
}

async function lengthFaults(documents) {
  const lengths = documents.map(async (document) => {
    const max = linesMax[document] ?? pageLinesMax;
    const lines = (await readFile(document, 'utf8')).split('\n').length - 1;
    return lines > max ? [`${document} has ${lines} lines; ${max} are enough`] : [];
  });
  return (await Promise.all(lengths)).flat();
}

const architecture = await readFile('ARCHITECTURE.md', 'utf8');
const loose = (await readdir('.')).filter((name) => name.endsWith('.md'));
const folders = await Promise.all(
  ['docs', 'bench', 'test', 'web', 'src'].map((folder) => filesOf(folder, '.md')),
);
const documents = [...loose, ...folders.flat()];
const explained = ['ARCHITECTURE.md', ...documents.filter((document) => document.startsWith('src/'))];
const faults = [
  ...(await contractFaults()),
  ...(await linkFaults(documents)),
  ...(await metricFaults(documents)),
  ...(await namedPageFaults()),
  ...(await indexFaults()),
  ...(await Promise.all(explained.map(namedFileFaults))).flat(),
  ...(await packageFaults(architecture)),
  ...arrowFaults(architecture),
  ...(await lengthFaults(documents)),
];
for (const fault of faults) process.stdout.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;
