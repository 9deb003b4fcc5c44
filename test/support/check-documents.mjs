import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';

/**
 * Holds the documents to the sources, and to each other; run by `npm run check`.
 *
 * - Every `(contract: Section, section)` of a comment names sections of docs/contract.md.
 * - Every relative link of a document leads to a file, and to a heading where it names one.
 * - README.md stays short: the rest belongs into docs/.
 */
const readmeLinesMax = 210;

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

/** The name by which a link finds a heading. */
const anchorOf = (title) =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

async function contractFaults() {
  const sections = new Set(headings(await readFile('docs/contract.md', 'utf8')));
  const files = await Promise.all(['src', 'test', 'bench'].map((folder) => filesOf(folder, '.ts')));
  const faults = [];
  let references = 0;
  for (const file of files.flat()) {
    const text = await readFile(file, 'utf8');
    for (const [, names] of text.matchAll(/\(contract:([^)]*)\)/g)) {
      references++;
      for (const name of names.replaceAll(/\s*\n\s*(\*|\/\/)?\s*/g, ' ').split(','))
        if (!sections.has(name.trim()))
          faults.push(`${file}: docs/contract.md has no section "${name.trim()}"`);
    }
  }
  return references > 0 ? faults : ['no comment points to docs/contract.md: is the pattern still right?'];
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

async function lengthFaults() {
  const lines = (await readFile('README.md', 'utf8')).split('\n').length - 1;
  return lines > readmeLinesMax ? [`README.md has ${lines} lines; ${readmeLinesMax} are enough`] : [];
}

const loose = (await readdir('.')).filter((name) => name.endsWith('.md'));
const folders = await Promise.all(['docs', 'bench', 'test'].map((folder) => filesOf(folder, '.md')));
const faults = [
  ...(await contractFaults()),
  ...(await linkFaults([...loose, ...folders.flat()])),
  ...(await lengthFaults()),
];
for (const fault of faults) process.stdout.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;
