import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { projectRoot } from '../support/project-root.ts';

const root = fileURLToPath(projectRoot);

/** Files and folders that a document's commands make in their folder. */
function filesMadeBy(text: string): string[] {
  const option = String.raw`(?:2?>>?|-o|-keyout|-out|--checkpoint|--rejected-to|--report|mkdir -p)\s+(\w[\w./-]*)`;
  const blocks = [...text.matchAll(/^```sh.*\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
  return blocks.flatMap((block) => [...block.matchAll(new RegExp(option, 'g'))].map(([, name = '']) => name));
}

test('files made by commands of documents, private keys above all, are ignored in a clone', (t) => {
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' });
  const documents = [
    'README.md',
    ...pages.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
  ];
  const made = documents.flatMap((name) => filesMadeBy(readFileSync(join(root, name), 'utf8')));
  const names = [...new Set(['tls.key', 'data/evidence-key', '.env', ...made])];
  assert.ok(names.includes('tls.crt') && names.includes('acme.key'), names.join(' '));
  const asked = spawnSync('git', ['check-ignore', '--no-index', ...names], { cwd: root, encoding: 'utf8' });
  if (asked.error !== undefined || asked.status === 128) return t.skip('this is no clone');
  const ignored = asked.stdout.split('\n');
  assert.deepEqual(
    names.filter((name) => !ignored.includes(name)),
    [],
  );
});
