import { strict as assert } from 'node:assert';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { chooseHttpPackage, httpPackage } from '../../src/base/platform.js';
import { projectRoot } from '../support/project-root.ts';

const choose = (node: string, glibc: string | undefined, system = 'linux') =>
  chooseHttpPackage({ node, system, glibc: () => glibc });

test('the package of the HTTP library follows the release of Node and the C library', () => {
  const chosen = (node: string, glibc: string | undefined, system?: string) =>
    choose(node, glibc, system).package;
  assert.equal(chosen('v20.19.0', '2.36'), 'uWebSockets.js');
  assert.equal(chosen('v20.20.2', '2.41'), 'uWebSockets.js');
  assert.equal(chosen('v22.12.0', '2.36'), 'uWebSockets.js');
  assert.equal(chosen('v22.12.0', '2.38'), 'uwebsockets');
  assert.equal(chosen('v24.0.0', '2.41'), 'uwebsockets');
  assert.equal(chosen('v24.0.0', '3.0'), 'uwebsockets');
  assert.equal(chosen('v24.0.0', undefined, 'darwin'), 'uwebsockets');
});

test('without a suitable package one line names the supported releases', () => {
  const refused = (node: string, glibc: string | undefined) => choose(node, glibc).refusal ?? '';
  assert.match(
    refused('v24.1.0', '2.36'),
    /^Node\.js 24 needs glibc 2\.38 .* has 2\.36: take Node\.js 22 or .*Debian 13/,
  );
  assert.match(
    refused('v22.12.0', '2.17'),
    /^Node\.js 22 needs glibc 2\.27 .* has 2\.17: take a newer system/,
  );
  assert.match(refused('v24.1.0', undefined), /no glibc: take .*Debian/);
  for (const node of ['v18.20.8', 'v20.18.3', 'v21.7.0', 'v22.11.0', 'v23.0.0', 'v25.1.0', 'v26.0.0']) {
    assert.match(refused(node, '2.41'), /20\.19, 22\.12, 24/);
    assert.ok(refused(node, '2.41').includes(node));
  }
});

test('the manifest names the same releases, and this one is among them', async () => {
  const manifest = JSON.parse(await readFile(new URL('package.json', projectRoot), 'utf8')) as {
    engines: { node: string };
  };
  assert.equal(manifest.engines.node, '^20.19 || ^22.12 || ^24');
  assert.equal(httpPackage.refusal, undefined);
});
