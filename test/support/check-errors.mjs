import { readFile, writeFile } from 'node:fs/promises';
import { problemTable } from '../../src/base/errors/problem.ts';
import { exitCodeMeanings, exitCodes } from '../../src/tools/program.ts';

/** Compares the tables of docs/errors.md with the sources that they are made from. `--write` rewrites them. */
const file = 'docs/errors.md';

/** @param {string[]} head @param {string[][]} rows */
function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |\n`).join('');
}

const tables = {
  'src/base/errors/problem.ts': table(
    ['status', 'meaning', 'what to do'],
    Object.values(problemTable).map(({ status, title, meaning, remedy }) => [
      `${status} ${title}`,
      meaning,
      remedy,
    ]),
  ),
  'src/tools/program.ts': table(
    ['exit code', 'meaning'],
    Object.entries(exitCodeMeanings).map(([name, meaning]) => [String(exitCodes[name]), meaning]),
  ),
};

const text = await readFile(file, 'utf8');
let made = text;
for (const [source, rows] of Object.entries(tables)) {
  const begin = `<!-- \`npm run errors\` makes this table from ${source}. -->\n`;
  const [before, rest] = made.split(begin);
  const after = rest?.slice(rest.indexOf('<!-- end -->'));
  if (!after) throw new Error(`${file} lacks the marks around the table of ${source}`);
  made = `${before}${begin}${rows}${after}`;
}
if (process.argv.includes('--write')) await writeFile(file, made);
else if (made !== text) throw new Error(`${file} is out of date: run "npm run errors"`);
