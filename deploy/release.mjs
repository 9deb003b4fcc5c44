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
 * The front end's packages have binaries of every system and release of Node, 390 MB, of which one is loaded. So the
 * server brings them along with those that it can run on: Node 20 (115), 22 (127) and 24 (137).
 */
const bundled = {
  'uWebSockets.js': /^uws_linux_(x64|arm64)_(115|127)\.node$/,
  uwebsockets: /^uws_linux_(x64|arm64)_(127|137)\.node$/,
};

function packServer() {
  if (!process.argv.includes('--as-built')) run('npm', ['run', '-s', 'build']);
  const stage = join(folder, 'stage');
  const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
  for (const name of ['scripts', 'devDependencies', 'allowScripts']) delete manifest[name];
  for (const name of [...manifest.files, 'README.md', 'LICENSE'])
    cpSync(name, join(stage, name), { recursive: true });
  for (const [name, loadable] of Object.entries(bundled))
    cpSync(join('node_modules', name), join(stage, 'node_modules', name), {
      recursive: true,
      filter: (path) => !path.endsWith('.node') || loadable.test(basename(path)),
    });
  writeFileSync(
    join(stage, 'package.json'),
    JSON.stringify({ ...manifest, bundleDependencies: Object.keys(bundled) }, undefined, 2),
  );
  run('npm', ['pack', `./${stage}`, '--pack-destination', folder]);
  rmSync(stage, { recursive: true });
}

const version = versionOf('.');
const packages = readdirSync('packages').map((name) => join('packages', name));
const others = packages.filter((path) => versionOf(path) !== version);
if (others.length > 0) throw new Error(`${others.join(', ')}: not version ${version}`);
const notes = notesOf(version);

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
packServer();
for (const path of packages) run('npm', ['pack', `./${path}`, '--pack-destination', folder]);
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
