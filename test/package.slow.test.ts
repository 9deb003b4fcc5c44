import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { removeDirectory, temporaryDirectory } from './support/directories.ts';
import { projectRoot } from './support/project-root.ts';
import { bundled } from './support/shipped-packages.mjs';

/** What `npm pack` makes, here and in packages/client: who installs it, gets what they need. */
const root = fileURLToPath(projectRoot);
const run = promisify(execFile);

interface Manifest {
  readonly version: string;
  readonly bin: Record<string, string>;
  readonly dependencies: Record<string, string>;
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

/** The files that `npm pack` takes of a folder, with their modes. Not built here: other tests run what is in dist. */
async function packedFiles(folder: string): Promise<Map<string, number>> {
  const command = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await run('npm', command, { cwd: join(root, folder) });
  type Packed = Record<string, { files: { path: string; mode: number }[] }>;
  const [packed] = Object.values(JSON.parse(stdout) as Packed);
  return new Map(packed?.files.map(({ path, mode }) => [path, mode]));
}

test('the package of the service has all that its manifest names, and is built for it', async () => {
  const manifest = await manifestOf('.');
  const files = await packedFiles('.');
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'string' ? [target] : Object.values(target),
  );
  for (const target of [
    ...targets,
    ...Object.values(manifest.bin),
    'schema/openapi.json',
    'schema/commands.json',
    'dist/base/platform.js',
  ])
    assert.ok(files.has(target.replace('./', '')), `${target} is not in the package`);
  for (const program of Object.values(manifest.bin))
    assert.equal((files.get(program) ?? 0) & 0o111, 0o111, `${program} cannot be run`);
  assert.equal(manifest.scripts['prepack'], 'npm run build');
  // Switched off, `npm pack` would pack what happens to be in dist, or nothing.
  assert.doesNotMatch(await readFile(join(root, '.npmrc'), 'utf8'), /ignore-scripts/);
});

test('every link of a packed document leads to a packed file, and messages name packed files', async () => {
  for (const folder of ['.', 'packages/client', 'packages/tools']) {
    const files = [...(await packedFiles(folder)).keys()];
    const isPacked = (path: string): boolean =>
      files.some((file) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`));
    const dead: string[] = [];
    for (const document of files.filter((file) => file.endsWith('.md'))) {
      const text = await readFile(join(root, folder, document), 'utf8');
      for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        const [path = ''] = target.split('#');
        if (path === '' || /^[a-z]+:/.test(path)) continue;
        if (!isPacked(join(dirname(document), path))) dead.push(`${document}: ${target}`);
      }
    }
    assert.deepEqual(dead, []);
  }
  const files = await packedFiles('.');
  const named = new Set<string>();
  for (const entry of await readdir(join(root, 'src'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const text = await readFile(join(entry.parentPath, entry.name), 'utf8');
    for (const [, path = ''] of text.matchAll(/projectFile\('([^']+)'\)/g)) named.add(path);
  }
  assert.ok(named.has('docs/tour.md'), 'which the demo names');
  for (const path of named) assert.ok(files.has(path), `${path} is not in the package`);
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

interface Bill {
  readonly bomFormat: string;
  readonly components: { name: string; version: string; purl: string; hashes?: unknown[] }[];
  readonly dependencies: { ref: string; dependsOn: string[] }[];
}

test('the bill of materials names what is shipped, packages of the page too, and nothing of development', async () => {
  const { stdout } = await run('npm', ['run', '-s', 'sbom'], { cwd: root, maxBuffer: 1 << 26 });
  const { bomFormat, components, dependencies } = JSON.parse(stdout) as Bill;
  assert.equal(bomFormat, 'CycloneDX');
  const names = new Set(components.map(({ name }) => name));
  const { dependencies: needed } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  // An alias is there by the name of the package behind it.
  for (const [name, version] of Object.entries(needed)) {
    const alias = /^npm:(.+)@/.exec(version)?.[1];
    assert.ok(names.has(name) || names.has(alias ?? ''), name);
  }
  for (const name of ['typescript', 'tsx', 'vite', 'fastify']) assert.ok(!names.has(name), name);
  const listed = new Set(components.map(({ name, version }) => `${name}@${version}`));
  assert.equal(listed.size, components.length);
  assert.ok(dependencies.length > components.length, 'of each package, and of this one');
  for (const { purl, hashes } of components)
    assert.ok(hashes !== undefined || purl.includes('%40chdb/lib-'), `${purl} has no hash`);
});

test('the page imports no package but those that the bill of materials counts as shipped', async () => {
  const entries = await readdir(join(root, 'web'), { recursive: true, withFileTypes: true });
  const sources = entries.filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name));
  const imported = new Set<string>();
  for (const { parentPath, name } of sources) {
    const text = await readFile(join(parentPath, name), 'utf8');
    for (const [, from = ''] of text.matchAll(/ from '((?:@[^'/]+\/)?[a-z][^'/]*)/g)) imported.add(from);
  }
  // What only builds it.
  imported.delete('vite');
  assert.deepEqual(
    [...imported].filter((name) => !bundled.includes(name) && !name.startsWith('node:')),
    [],
  );
  assert.ok(imported.has('preact'));
});

test('a release has its files with their checksums, and of the HTTP library what a server can load', async () => {
  // Not built here: other tests run what is in dist.
  const origin = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'remote.origin.url' };
  await run('npm', ['run', '-s', 'release', '--', '--as-built'], {
    cwd: root,
    maxBuffer: 1 << 26,
    env: { ...process.env, ...origin, GIT_CONFIG_VALUE_0: 'https://me:secret@git.example/audit/log.git' },
  });
  const made = join(root, 'release');
  await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: made });
  const { version } = await manifestOf('.');
  const summed = (await readFile(join(made, 'SHA256SUMS'), 'utf8')).trim().split('\n');
  const names = summed.map((line) => line.split('  ')[1] ?? '');
  assert.deepEqual((await readdir(made)).toSorted(), [...names, 'SHA256SUMS'].toSorted());
  const server = `auditlog-${version}.tgz`;
  for (const name of [
    server,
    `auditlog-client-${version}.tgz`,
    `auditlog-tools-${version}.tgz`,
    'sbom.cdx.json',
    'images.txt',
  ])
    assert.ok(names.includes(name), name);
  assert.match(await readFile(join(made, 'notes.md'), 'utf8'), new RegExp(`^# ${version}\n`));
  const { stdout } = await run('tar', ['--list', '--file', join(made, server)], { maxBuffer: 1 << 26 });
  const binaries = stdout.split('\n').filter((name) => name.endsWith('.node'));
  assert.equal(binaries.length, 8);
  assert.ok(binaries.every((name) => /node_modules\/\S+_linux_(x64|arm64)_(115|127|137)\.node$/.test(name)));
  for (const name of names.filter((file) => file.endsWith('.tgz'))) {
    const { stdout: text } = await run('tar', ['-xOf', join(made, name), 'package/package.json']);
    const { scripts, repository } = JSON.parse(text) as Record<string, { url?: string } | undefined>;
    assert.equal(scripts, undefined);
    assert.equal(repository?.url, 'git+https://git.example/audit/log.git', name);
  }
});

test('the package is the same file wherever and whenever it is built', async () => {
  const hashes: string[] = [];
  const { stdout: head } = await run('git', ['rev-parse', 'HEAD'], { cwd: root });
  for (let turn = 0; turn < 2; turn++) {
    const copy = join(directory, `built ${turn}`);
    await run('git', ['worktree', 'add', '--detach', '--quiet', copy, head.trim()], { cwd: root });
    try {
      await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
      await run('npm', ['pack', '--silent'], { cwd: copy });
      assert.equal((await stat(join(copy, 'dist/cli.js'))).mode & 0o111, 0o111, 'npx runs it');
      const [file = ''] = (await readdir(copy)).filter((name) => name.endsWith('.tgz'));
      hashes.push(
        createHash('sha256')
          .update(await readFile(join(copy, file)))
          .digest('hex'),
      );
    } finally {
      await run('git', ['worktree', 'remove', '--force', copy], { cwd: root });
    }
  }
  assert.equal(hashes[0], hashes[1]);
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

test('the tools install alone, in less than 15 MB, with the same packages as the service', async () => {
  const [tools, all] = await Promise.all([manifestOf('packages/tools'), manifestOf('.')]);
  for (const [name, version] of Object.entries(tools.dependencies))
    assert.equal(version, all.dependencies[name], name);
  const place = join(directory, 'tools');
  await mkdir(place);
  await run('npm', ['pack', '--pack-destination', place], { cwd: join(root, 'packages/tools') });
  await writeFile(join(place, 'package.json'), '{}');
  await run('npm', ['install', '--prefer-offline', `./auditlog-tools-${tools.version}.tgz`], { cwd: place });
  const { stdout: kilobytes } = await run('du', ['-sk', 'node_modules'], { cwd: place });
  assert.ok(Number.parseInt(kilobytes, 10) < 15_000, `${kilobytes} KB`);
  const program = join(place, 'node_modules/.bin/auditlog-tools');
  assert.equal((await run(program, ['--version'])).stdout, `${tools.version}\n`);
  const record = {
    eventVersion: '1.08',
    eventTime: '2024-06-01T00:00:00Z',
    eventSource: 'iam.amazonaws.com',
  };
  await writeFile(join(place, 'trail.ndjson'), JSON.stringify({ ...record, eventName: 'CreateUser' }));
  const dryRun = [
    'import',
    '--from',
    'cloudtrail',
    '--dry-run',
    '--url',
    'http://127.0.0.1:1',
    'trail.ndjson',
  ];
  const { stdout: read } = await run(program, dryRun, { cwd: place });
  assert.match(read, /CreateUser/);
  await writeFile(join(place, 'read.ndjson'), '{"class_uid":3001}');
  await assert.rejects(run(program, ['ocsf', 'validate', 'read.ndjson'], { cwd: place }), /not valid OCSF/);
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
`;
  await writeFile(join(directory, 'program.ts'), program);
  await writeFile(join(directory, 'wrong.ts'), program.replace('limit: 1', "limit: 'all'"));
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
    const config = JSON.stringify({ compilerOptions, files: ['program.ts', 'wrong.ts'] });
    await writeFile(join(directory, 'tsconfig.json'), config);
    const compiling = run(join(root, 'node_modules/.bin/tsc'), ['-p', directory]);
    const { stdout: faults } = await compiling.catch((error: { stdout: string }) => error);
    assert.match(faults, /wrong\.ts.* 'string' is not assignable to type 'number'/m);
    assert.doesNotMatch(faults, /program\.ts/);
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
