import { strict as assert } from 'node:assert';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { projectRoot } from '../support/project-root.ts';
import { linesOf } from './checks/log.ts';

test('each line of the log that a fault of the simulator explains is written somewhere', () => {
  const folder = new URL('src/', projectRoot);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const sources = files.map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n');
  const lines = Object.values(linesOf).flatMap((list): readonly (string | RegExp)[] => list);
  const unknown = lines.filter((line) => typeof line === 'string' && !sources.includes(`'${line}'`));
  assert.deepEqual(unknown, []);
});
