import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { type Variable, variables } from '../../src/config/variables.ts';
import { documentText } from '../support/markdown.ts';

/** docs/configure.md against the table that reads the environment. */

const rows = documentText('docs/configure.md')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '')));

test('every variable has a row, with its default', () => {
  for (const [name, { shownDefault }] of Object.entries<Variable<unknown>>(variables)) {
    const found = rows.filter(([variable]) => variable === `\`${name}\``);
    const row = `| \`${name}\` | ${shownDefault} | what it does |`;
    assert.equal(found.length, 1, `docs/configure.md has one row of ${name}, such as\n${row}`);
    assert.equal(found[0]?.[1], shownDefault, `such as\n${row}`);
    assert.ok((found[0]?.[2] ?? '') !== '', name);
  }
});

test('no row is of a variable that there is not', () => {
  for (const [variable = ''] of rows) assert.ok(variable.slice(1, -1) in variables, variable);
});
