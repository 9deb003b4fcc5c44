import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { type Variable, variables } from '../../src/config/variables.ts';
import { documentText } from '../support/markdown.ts';

/** docs/configure.md against the table that reads the environment. */

const rows = documentText('docs/configure.md')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '')));

/** What the page says once, above its tables. */
const examples = [
  ' such as 500ms, 90s, 15m, 12h or 30d,',
  ' such as 33554432, 64 MiB or 8 GiB,',
  ' such as 300/15s (a window of at most 1d)',
];
const shortly = (allowed: string): string =>
  examples
    .reduce((text, example) => text.replace(example, ''), allowed)
    .replace('the path of a file that this user can read,', 'a file');

test('every variable has a row, with its default and what is allowed', () => {
  for (const [name, { shownDefault, kind }] of Object.entries<Variable<unknown>>(variables)) {
    const found = rows.filter(([variable]) => variable === `\`${name}\``);
    const row = `| \`${name}\` | ${shownDefault} | ${shortly(kind.allowed)} | what it does |`;
    assert.equal(found.length, 1, `docs/configure.md has one row of ${name}, such as\n${row}`);
    assert.deepEqual(found[0]?.slice(1, 3), [shownDefault, shortly(kind.allowed)], `such as\n${row}`);
    assert.ok((found[0]?.[3] ?? '') !== '', name);
  }
});

test('no row is of a variable that there is not', () => {
  for (const [variable = ''] of rows) assert.ok(variable.slice(1, -1) in variables, variable);
});
