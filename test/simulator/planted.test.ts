import { strict as assert } from 'node:assert';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { projectRoot } from '../support/project-root.ts';
import { operations } from './operations/all.ts';
import { plantedFaults } from './planted/faults.ts';
import { planted } from './planted/plant.ts';

/** Planted faults follow the sources: who changes a line of one moves the fault along. */

const read = (file: string): string => readFileSync(new URL(file, projectRoot), 'utf8');

/** All texts of the simulator but the faults themselves. */
function simulatorSources(): string {
  const folder = fileURLToPath(new URL('test/simulator/', projectRoot));
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('planted'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
}

for (const fault of plantedFaults)
  test(`the planted fault ${fault.name} has its place in the sources`, () => {
    const texts = new Map<string, string>();
    for (const edit of fault.edits)
      texts.set(edit.file, planted(texts.get(edit.file) ?? read(edit.file), edit));
    for (const [file, text] of texts) {
      const { diagnostics = [] } = ts.transpileModule(text, { fileName: file, reportDiagnostics: true });
      assert.deepEqual(
        diagnostics.map(({ messageText }) => messageText),
        [],
        file,
      );
    }
  });

test('planted faults name checks and operations that there are', () => {
  const sources = simulatorSources();
  const known = new Set(operations.map(({ name }) => name));
  for (const { name, seenBy, only = [] } of plantedFaults) {
    assert.deepEqual(
      seenBy.filter((check) => !sources.includes(`'${check}'`)),
      [],
      name,
    );
    assert.deepEqual(
      only.filter((operation) => !known.has(operation)),
      [],
      name,
    );
  }
});
