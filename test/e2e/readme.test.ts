import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cliCommand } from '../support/cli-command.ts';
import { patience } from '../support/patience.ts';
import { freePort } from '../support/plain-engine.ts';
import { removeDirectory, temporaryDirectory } from '../support/server.ts';

/** README as it comes out: its commands are run from top to bottom in a new directory. */

const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

interface Block {
  readonly language: string;
  readonly content: string;
}

const blocks: readonly Block[] = [...readme.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(
  ([, language = '', content = '']) => ({ language, content }),
);

/**
 * What stands for commands that cannot be run here as they are: `npm ci` and other tests have been run, a demo has fewer
 * events, and nobody reads its key off a terminal. A pause waits until what was recorded can be read.
 */
const stage = (port: number, cli: string) => `
cli() { ${cli} "$@"; }
npm() {
  case "$*" in
    ci | test | 'run bench '*) ;;
    'run demo') ${cli} demo --events 200 > demo.log 2>&1 & demo=$!
      until grep -q 'ak_' demo.log; do kill -0 $demo || exit 1; command sleep 0.1; done ;;
    start) exec ${cli} serve ;;
    'run -s auditlog -- '*) shift 4; cli "$@" ;;
    *) echo "README: npm $*" >&2; exit 1 ;;
  esac
}
sleep() {
  [ "$1" = 1.5 ] || { command sleep "$1"; return; }
  until curl -s http://127.0.0.1:${port}/api/v1/audit -H "X-API-Key: $KEY" | grep -q 'zoe@acme'; do command sleep 0.1; done
}
trap 'kill $(jobs -p); wait' EXIT
`;

/** The commands, with a line before the output of each block. */
function script(port: number): string {
  const cli = ['node', ...cliCommand.map((part) => (part.includes('/') ? resolve(root, part) : part))].join(
    ' ',
  );
  const parts = blocks.map(({ language, content }, index) => {
    if (language !== 'sh') return '';
    const own = content
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
      .replace("'X-API-Key: ak_…'", '"X-API-Key: $(grep -om1 "ak_[A-Za-z0-9_-]*" demo.log)"');
    const isOver = content.includes('ak_…') ? 'kill $demo; wait $demo\n' : '';
    return `echo; echo '@@ ${index}'\n${own}${isOver}`;
  });
  return `set -e\n${stage(port, cli)}${parts.join('')}`;
}

/** Outputs by the index of their block. */
async function run(): Promise<ReadonlyMap<number, string>> {
  const directory = await temporaryDirectory();
  const port = await freePort();
  for (const name of ['node_modules', 'package.json']) symlinkSync(join(root, name), join(directory, name));
  const shell = spawn('bash', ['-c', script(port)], {
    cwd: directory,
    env: { PATH: process.env['PATH'], PORT: String(port), WORKERS: '1', TMPDIR: directory },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, [code]] = await Promise.all([
    readText(shell.stdout),
    readText(shell.stderr),
    once(shell, 'exit'),
  ]);
  const logs = ['demo.log', 'server.log'].map((name) =>
    readFileSync(join(directory, name), 'utf8').slice(-500),
  );
  await removeDirectory(directory);
  assert.equal(code, 0, `${errors}\n${output}\n${logs.join('\n')}`);
  const parts = output.split(/^@@ (\d+)$/m).slice(1);
  return new Map(
    parts.flatMap((part, at) =>
      at % 2 === 0 ? [[Number(part), (parts[at + 1] ?? '').trim()] as const] : [],
    ),
  );
}

/** The same names and values; `…` stands for what differs, and so does the moment of the answer. */
function holdShape(shown: unknown, real: unknown, path: string): void {
  assert.equal(typeof real, typeof shown, path);
  if (typeof shown === 'object' && shown !== null) {
    assert.deepEqual(Object.keys(real as object).toSorted(), Object.keys(shown).toSorted(), path);
    for (const [name, value] of Object.entries(shown))
      holdShape(value, (real as Record<string, unknown>)[name], `${path}/${name}`);
  } else if (!String(shown).includes('…') && !path.endsWith('/logged_time')) assert.equal(real, shown, path);
}

test('every command of README gives what is printed beside it', { timeout: patience(90_000) }, async () => {
  const outputs = await run();
  let compared = 0;
  for (const [index, { language, content }] of blocks.entries()) {
    if (language !== 'json') continue;
    holdShape(JSON.parse(content), JSON.parse(outputs.get(index - 1) ?? ''), `README, block ${index}`);
    compared += 1;
  }
  assert.equal(compared, 3);
  const page = [...outputs.values()].map((output) =>
    /^\{"data":\[.*"meta":\{"total":\d+,"limit":5,/s.exec(output),
  );
  assert.ok(
    page.some((found) => found !== null),
    'the page of the demo',
  );
});

test('scripts that README names are there', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  const named = [...readme.matchAll(/npm (?:run (?:-s )?([\w:]+)|(start|test)\b)/g)].map(
    ([, a, b]) => a ?? b ?? '',
  );
  assert.ok(named.length > 5);
  for (const name of named) assert.ok(name in scripts, name);
});
