// @ts-check
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/**
 * `npm run release`: makes in `release/` what one publishes of the version in package.json.
 *
 * | file | what it is |
 * |---|---|
 * | `*.tgz` | the server and each package of `packages/`, for `npm publish FILE` |
 * | `sbom.cdx.json` | what an installation contains (CycloneDX) |
 * | `notes.md` | this version's part of CHANGELOG.md |
 * | `images.txt` | the images and their tags, which `--images` builds, too |
 * | `SHA256SUMS` | of all of these, for `sha256sum --check` |
 *
 * `--as-built` takes `dist` as it is. Nothing is published here: that is a decision of its own. A version without a part
 * in the changelog, and packages of different versions, are refused, as nobody could say afterwards what was published.
 * The packages name the remote `origin` of the clone as their repository; the sources name none.
 */
const folder = 'release';
const images = [
  { target: 'embedded', tags: (/** @type {string} */ version) => [`auditlog:${version}`, 'auditlog:latest'] },
  {
    target: 'server',
    tags: (/** @type {string} */ version) => [`auditlog:${version}-server`, 'auditlog:server'],
  },
];

/** @type {(program: string, args: readonly string[]) => string} */
const run = (program, args) =>
  execFileSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    stdio: ['ignore', 'pipe', 'inherit'],
  });

/** @type {(path: string) => string} */
const versionOf = (path) => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')).version;

/** @type {(version: string) => string} */
function notesOf(version) {
  const parts = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m);
  const own = parts.find((part) => part.split(/[\s\]]/, 1)[0]?.replace('[', '') === version);
  if (own === undefined) throw new Error(`CHANGELOG.md has no part "## ${version}"`);
  return `# ${own.trimEnd()}\n`;
}

/**
 * The packages of uWebSockets.js have binaries of every system and release of Node, 390 MB, of which one is loaded. So the
 * server brings them along with those that it can run on: Node 20 (115), 22 (127) and 24 (137).
 */
const bundled = {
  'uWebSockets.js': /^uws_linux_(x64|arm64)_(115|127)\.node$/,
  uwebsockets: /^uws_linux_(x64|arm64)_(127|137)\.node$/,
};

/**
 * Where the project is, as its clone has it: npm shows it, and links of a package's README start there. A clone of a
 * folder names no place that others can reach.
 *
 * @returns {string | undefined}
 */
function repository() {
  let origin;
  try {
    origin = run('git', ['config', '--get', 'remote.origin.url']).trim();
  } catch {
    return undefined;
  }
  const ssh = /^(?:ssh:\/\/)?git@([\w.-]+)[:/](.+)$/.exec(origin);
  if (ssh !== null) return `git+ssh://git@${ssh[1]}/${ssh[2]}`;
  if (!origin.startsWith('https://')) return undefined;
  const address = new URL(origin);
  address.username = '';
  address.password = '';
  return `git+${address.href}`;
}

/**
 * Packs the package at `path` as npm does, then again with `change` made to what it packed.
 *
 * @param {string} path
 * @param {(stage: string) => object} change gets the unpacked package, and returns more members of its manifest
 */
function pack(path, change) {
  const unbuilt = path === '.' && process.argv.includes('--as-built') ? ['--ignore-scripts'] : [];
  const destination = ['--pack-destination', folder];
  // Whatever a build prints comes before the name.
  const printed = run('npm', ['pack', `./${path}`, '--silent', ...unbuilt, ...destination]);
  const name = printed.trimEnd().split('\n').at(-1) ?? '';
  run('tar', ['--extract', '--directory', folder, '--file', join(folder, name)]);
  const stage = join(folder, 'package');
  const file = join(stage, 'package.json');
  const {
    scripts: _,
    devDependencies: __,
    allowScripts: ___,
    ...manifest
  } = JSON.parse(readFileSync(file, 'utf8'));
  const url = repository();
  const place =
    url === undefined ? {} : { repository: { type: 'git', url, ...(path !== '.' && { directory: path }) } };
  writeFileSync(file, JSON.stringify({ ...manifest, ...place, ...change(stage) }, undefined, 2));
  run('npm', ['pack', `./${stage}`, '--silent', ...destination]);
  rmSync(stage, { recursive: true });
}

/** @type {(stage: string) => object} */
function bundleHttpPackages(stage) {
  for (const [name, loadable] of Object.entries(bundled))
    cpSync(join('node_modules', name), join(stage, 'node_modules', name), {
      recursive: true,
      filter: (path) => !path.endsWith('.node') || loadable.test(basename(path)),
    });
  return { bundleDependencies: Object.keys(bundled) };
}

const version = versionOf('.');
const packages = readdirSync('packages').map((name) => join('packages', name));
const others = packages.filter((path) => versionOf(path) !== version);
if (others.length > 0) throw new Error(`${others.join(', ')}: not version ${version}`);
const notes = notesOf(version);

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
if (repository() === undefined)
  process.stderr.write('release: no remote "origin" with an address, so the packages name no repository\n');
pack('.', bundleHttpPackages);
for (const path of packages) pack(path, () => ({}));
writeFileSync(join(folder, 'sbom.cdx.json'), run('npm', ['run', '-s', 'sbom']));
writeFileSync(join(folder, 'notes.md'), notes);
writeFileSync(join(folder, 'images.txt'), images.map(({ tags }) => `${tags(version).join(' ')}\n`).join(''));
if (process.argv.includes('--images'))
  for (const { target, tags } of images)
    run('docker', ['build', '--target', target, ...tags(version).flatMap((tag) => ['--tag', tag]), '.']);

const sums = readdirSync(folder)
  .toSorted()
  .map(
    (name) =>
      `${createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex')}  ${name}\n`,
  );
writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
process.stdout.write(sums.join(''));
