import { strict as assert } from 'node:assert';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { projectRoot } from '../support/project-root.ts';

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly dev?: boolean }>>;
}

test('every binary for x64 also exists for arm64, as install.md says', () => {
  const { packages } = JSON.parse(readFileSync(new URL('package-lock.json', projectRoot), 'utf8')) as Lock;
  const compiled = Object.keys(packages).filter((name) => name.endsWith('linux-x64-gnu'));
  const shipped = compiled.filter((name) => packages[name]?.dev !== true);
  assert.ok(shipped.length >= 4, shipped.join(' '));
  for (const name of shipped)
    assert.equal(packages[name.replace('x64', 'arm64')]?.version, packages[name]?.version, name);
  // The two packages have binaries for all machines, by the number of Node's binary interface.
  for (const [folder, interfaces] of [
    ['node_modules/uWebSockets.js/dist/bin/', [115, 127]],
    ['node_modules/uwebsockets/', [127, 137]],
  ] as const) {
    const files = readdirSync(new URL(folder, projectRoot));
    for (const one of interfaces) assert.ok(files.includes(`uws_linux_arm64_${one}.node`), `${folder}${one}`);
  }
});
