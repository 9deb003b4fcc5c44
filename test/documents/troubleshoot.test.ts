import { strict as assert } from 'node:assert';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { documentText } from '../support/markdown.ts';
import { projectRoot } from '../support/project-root.ts';

/** docs/troubleshoot.md against the sources: the program has every quoted text. */

const page = documentText('docs/troubleshoot.md');
const alertsAt = page.indexOf('## Alerts');

/** Sources, with concatenated texts joined. */
const sources = readdirSync(new URL('src', projectRoot), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(ts|js)$/.test(name))
  .map((name) => documentText(`src/${name}`).replaceAll(/['`]\s*\+\s*['`]/g, ''))
  // The rules of events.
  .concat(documentText('schema/source-event.schema.json'));

/** Code in the first column of tables, also in double backquotes. */
function literals(text: string): string[] {
  const columns = text
    .split('\n')
    .filter((line) => /^\| (?!you see|-)/.test(line))
    .map((line) => line.slice(1).split(' | ')[0] ?? '');
  return columns.flatMap((cell) =>
    Array.from(cell.matchAll(/``(.+?) ``|`([^`]+)`/g), ([, quoted, plain]) => quoted ?? plain ?? ''),
  );
}

/** `…` stands for an expression in the source, perhaps with quotes around it. */
function isInSources(literal: string): boolean {
  const pieces = literal.split('…').map((piece) => piece.trim());
  assert.ok(
    pieces.some((piece) => piece.length >= 4),
    `too short to be looked for: ${literal}`,
  );
  const escaped = pieces.map((piece) => piece.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  const pattern = new RegExp(escaped.join('[^\n]{3,120}?'));
  return sources.some((source) => pattern.test(source));
}

/** Endpoints and members that other tests check. */
const known = /^(\/|"accepted":0|"total":0|errors$)/;

test('what one sees is in the program', () => {
  const all = literals(page.slice(0, alertsAt));
  assert.ok(all.length > 40, `${all.length}`);
  for (const literal of all)
    if (!known.test(literal)) assert.ok(isInSources(literal), `the program does not say: ${literal}`);
});
