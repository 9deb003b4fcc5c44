import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { mappedBy, mappingOf } from '../support/mappings.ts';
import { adapterNames } from '../../src/adapters/definition.ts';
import { mapped } from '../ocsf/arbitrary.ts';
import { documentText } from '../support/markdown.ts';
import { projectRoot } from '../support/project-root.ts';
import { blockOf } from './page.ts';

/** Checks the recipes without their programs. */

const folder = fileURLToPath(new URL('../../docs/recipes/', import.meta.url));
const pages = readdirSync(folder);
const root = fileURLToPath(new URL('../../', import.meta.url));

test('every page is in the table of recipes', () => {
  const table = readFileSync(`${folder}README.md`, 'utf8');
  for (const page of pages) if (page !== 'README.md') assert.ok(table.includes(`(${page})`), page);
});

test('configurations in YAML are valid, and use an existing endpoint', () => {
  const shippers = readdirSync(new URL('deploy/shippers', projectRoot)).map(
    (name) => `deploy/shippers/${name}`,
  );
  for (const path of shippers.filter((name) => name.endsWith('.yaml')))
    assert.equal(typeof parse(documentText(path), { strict: true }), 'object', path);
  const texts = [...shippers, ...pages.map((page) => `docs/recipes/${page}`)].map(documentText);
  const sources = texts.flatMap((text) => Array.from(text.matchAll(/[?& ]from=(\w+)|--from (\w+)/g)));
  assert.ok(sources.length >= 5);
  const names: readonly string[] = adapterNames;
  for (const [text, query, option] of sources) assert.ok(names.includes(query ?? option ?? ''), text);
  const senders = texts.filter((text) => /\/api\/v1\/audit\?from=json/.test(text));
  assert.ok(senders.length >= 4, `${senders.length}`);
  for (const text of senders) assert.match(text, /Idempotency-Key"?[: ]+"?body/);
});

/** The event of a log library's line. */
function eventOf(line: string) {
  const event = mappedBy(mappingOf('json'), line);
  if (typeof event === 'string') assert.fail(event);
  const row = mapped(event[0] ?? '');
  const { message } = JSON.parse(row.source) as { message: { extra: Record<string, unknown> } };
  return {
    action: row.activityName,
    actor: row.actorEmail,
    level: row.level,
    extra: message.extra['document'],
  };
}

const saved = { action: 'document.save', actor: 'ann@example.com', extra: 'plan.pdf' };

test('lines of log libraries become events without more configuration', () => {
  const page = 'recipes/log-libraries.md';
  for (const [library, level] of [
    ['pino', 'INFO'],
    ['winston', 'INFO'],
    ['zap', 'INFO'],
    ['serilog', ''],
  ] as const)
    assert.deepEqual(eventOf(blockOf(page, `${library}.json`).trim()), { ...saved, level }, library);
});

test('what pino writes by default becomes an event', async () => {
  const program = blockOf('recipes/log-libraries.md', 'pino.mjs');
  const args = ['--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  assert.deepEqual(eventOf(stdout.trim()), { ...saved, level: 'INFO' });
});
