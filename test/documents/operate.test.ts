import { strict as assert } from 'node:assert';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { documentText } from '../support/markdown.ts';
import { projectRoot } from '../support/project-root.ts';

/** docs/operate.md against the sources of `doctor`. */

const page = documentText('docs/operate.md');
const doctor = readdirSync(new URL('src/cli/doctor', projectRoot))
  .map((name) => documentText(`src/cli/doctor/${name}`))
  .concat(documentText('src/cli/doctor.ts'))
  .join('\n');

/** Names in the first column of the table that begins with this word. */
function named(heading: string): string[] {
  const table = page.slice(page.indexOf(`| ${heading} |`)).split('\n\n', 1)[0] ?? '';
  const cells = table.split('\n').map((line) => line.split(' | ')[0] ?? '');
  return cells.flatMap((cell) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = '']) => name));
}

test('the table of checks has all checks of the host', () => {
  const made = Array.from(doctor.matchAll(/hostCheck\(\s*'(\w+)'/g), ([, name = '']) => name);
  assert.ok(made.length > 10);
  assert.deepEqual(named('check').toSorted(), [...new Set(made)].toSorted());
});

test('the table of files that are kept has all that doctor looks for', () => {
  const endings = [...doctor.matchAll(/^ {2}(\w+): \{\n +detail: '[^']*segment/gm)].map(
    ([, name]) => `*.${name}`,
  );
  assert.equal(endings.length, 3);
  assert.deepEqual(named('file').toSorted(), [...endings, '*.unknown'].toSorted());
});
