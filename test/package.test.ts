import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { removeDirectory, temporaryDirectory } from './support/server.ts';
import { projectRoot } from './support/project-root.ts';

/** What `npm pack` makes, here and in packages/client: who installs it, gets what they need. */
const root = fileURLToPath(projectRoot);
const run = promisify(execFile);

interface Manifest {
  readonly version: string;
  readonly private?: boolean;
  readonly bin: Record<string, string>;
  readonly exports: Record<string, string | Record<string, string>>;
  readonly scripts: Record<string, string>;
  readonly allowScripts?: Record<string, boolean>;
}

const manifestOf = async (folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8')) as Manifest;

let directory = '';
before(async () => {
  directory = await temporaryDirectory();
});
after(() => removeDirectory(directory));

test('the package of the service has all that its manifest names, and is built for it', async () => {
  const manifest = await manifestOf('.');
  // Not built here: other tests run what is in dist.
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root });
  const [packed] = Object.values(JSON.parse(stdout) as Record<string, { files: { path: string }[] }>);
  const files = new Set(packed?.files.map(({ path }) => path));
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'string' ? [target] : Object.values(target),
  );
  for (const target of [
    ...targets,
    ...Object.values(manifest.bin),
    'schema/openapi.json',
    'dist/base/platform.js',
  ])
    assert.ok(files.has(target.replace('./', '')), `${target} is not in the package`);
  assert.equal(manifest.scripts['prepack'], 'npm run build');
  // Switched off, `npm pack` would pack what happens to be in dist, or nothing.
  assert.doesNotMatch(await readFile(join(root, '.npmrc'), 'utf8'), /ignore-scripts/);
});

test('no package that has an install script is here unknown', async () => {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { hasInstallScript?: boolean }>;
  };
  const withScript = Object.entries(lock.packages).flatMap(([path, { hasInstallScript }]) =>
    hasInstallScript === true ? [path.replace('node_modules/', '')] : [],
  );
  const { allowScripts } = await manifestOf('.');
  assert.deepEqual(Object.fromEntries(withScript.map((name) => [name, false])), allowScripts);
});

test('npm ci has nothing to warn of on this release of Node', async () => {
  const copy = join(directory, 'copy');
  await mkdir(copy);
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    await copyFile(join(root, name), join(copy, name));
  const { stderr } = await run('npm', ['ci', '--dry-run', '--offline'], { cwd: copy });
  // Settings of the person who runs this are not ours to judge.
  assert.doesNotMatch(stderr, /EBADENGINE|deprecated|Unsupported/);
});

test('the client installs alone, and its types hold under nodenext and bundler', async () => {
  assert.equal((await manifestOf('packages/client')).version, (await manifestOf('.')).version);
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', directory], {
    cwd: join(root, 'packages/client'),
  });
  assert.match(stdout, /auditlog-client-/);
  const [tarball] = (await readdir(directory)).filter((name) => name.endsWith('.tgz'));
  await writeFile(join(directory, 'package.json'), '{"type": "module"}');
  await run('npm', ['install', '--offline', `./${tarball}`], { cwd: directory });
  const installed = (await readdir(join(directory, 'node_modules'))).filter((name) => !name.startsWith('.'));
  assert.deepEqual(installed, ['auditlog-client']);

  const program = `import { type AuditEvent, createClient } from 'auditlog-client';
const audit = createClient({ url: 'http://127.0.0.1:1', apiKey: 'none' });
export const first: Promise<AuditEvent | undefined> = audit.page({ limit: 1 }).then(({ events }) => events[0]);
// @ts-expect-error: a limit is a number
export const wrong = () => audit.page({ limit: 'all' });
`;
  await writeFile(join(directory, 'program.ts'), program);
  for (const [module, moduleResolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ]) {
    const compilerOptions = {
      module,
      moduleResolution,
      target: 'es2023',
      lib: ['es2023', 'dom'],
      types: [],
      strict: true,
      noEmit: true,
    };
    await writeFile(
      join(directory, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['program.ts'] }),
    );
    await run(join(root, 'node_modules/.bin/tsc'), ['-p', directory]);
  }
  const { stdout: kind } = await run(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      "process.stdout.write(typeof (await import('auditlog-client')).createClient)",
    ],
    { cwd: directory },
  );
  assert.equal(kind, 'function');
});
