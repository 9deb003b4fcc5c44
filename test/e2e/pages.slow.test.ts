import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { documentText, pages } from '../support/markdown.ts';
import { cliWords, holdOutputs, makeClone, type Page, runScript, scriptOf } from '../support/page-run.ts';
import { patience } from '../support/patience.ts';
import { freePort } from '../support/plain-engine.ts';
import { projectRoot } from '../support/project-root.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';

/**
 * README and the pages of `docs` as they come out: their commands are run from top to bottom in a new directory, all
 * beside the one server that README starts, with its organization and its key.
 */

const fixtures = fileURLToPath(new URL('test/fixtures/adapters/', projectRoot));

/** What readers of a page have before they begin. */
const before: Readonly<Record<string, string>> = {
  'docs/adapters.md': `gzip -c ${fixtures}cloudtrail.json > 1234_CloudTrail_eu-central-1_20240601T0000Z.json.gz
    cp ${fixtures}kubernetes.json events.json`,
};

/**
 * What stands for commands that cannot be run here as they are: `npm ci` and other tests have been run, a demo has fewer
 * events, and nobody reads its key off a terminal. A pause waits until what was recorded can be read. What doctor finds
 * about this machine's disk is not a matter of the pages.
 */
const stage = (port: number) => `
shopt -s expand_aliases
auditlog() {
  cli "$@" && return
  local code=$?
  [ "$1 $code" = 'doctor 1' ] || return $code
  cli doctor --quick --json | node -e '
    const { checks } = JSON.parse(fs.readFileSync(0));
    const ofMachine = ["disk_space", "file_system", "synced_writes"];
    process.exit(checks.every(({ name, healthy }) => healthy || ofMachine.includes(name)) ? 0 : 1)'
}
npx() { shift; auditlog "$@"; }
npm() {
  case "$*" in
    ci | test | 'run build' | 'run bench '*) ;;
    'run demo') ${cliWords} demo --events 200 > demo.log 2>&1 & demo=$!
      until grep -q 'ak_' demo.log; do kill -0 $demo || exit 1; command sleep 0.1; done ;;
    start) exec ${cliWords} serve ;;
    'run -s auditlog -- '*) shift 4; auditlog "$@" ;;
    *) echo "npm $*: not known to the test" >&2; exit 1 ;;
  esac
}
sleep() {
  [ "$1" = 1.5 ] || { command sleep "$1"; return; }
  until curl -s http://127.0.0.1:${port}/api/v1/audit -H "X-API-Key: $KEY" | grep -q 'zoe@acme'; do command sleep 0.1; done
}
trap 'kill $(jobs -p); wait' EXIT
`;

/** README ends its demo after the request to it, and goes on in the same shell; each other page has one of its own. */
function scriptOfAll(paths: readonly string[], port: number): string {
  const change = (text: string): string => {
    const own = text
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
      .replace("'X-API-Key: ak_…'", '"X-API-Key: $(grep -om1 "ak_[A-Za-z0-9_-]*" demo.log)"');
    return own + (text.includes('ak_…') ? 'kill $demo; wait $demo\n' : '');
  };
  const parts = paths.map((path) => {
    const page: Page = { path, before: before[path] ?? '', change };
    const script = scriptOf(page);
    return path === 'README.md' || script === '' ? script : `(\n${script})\n`;
  });
  return stage(port) + parts.join('');
}

/** Programs of pages that a machine may lack; without one its pages are not run. */
const lacking = ['jq', 'openssl'].filter(
  (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error !== undefined,
);

function isRunnable(path: string): boolean {
  const text = documentText(path);
  return !lacking.some((program) => new RegExp(`(^|\\| )${program} `, 'm').test(text));
}

test('every command of README and docs gives what is printed beside it', {
  timeout: patience(180_000),
}, async (context) => {
  assert.ok(existsSync(new URL('dist/client/client.js', projectRoot)), 'npm run build comes first');
  const paths = pages().filter(isRunnable);
  if (lacking.length > 0)
    context.diagnostic(`NOT TESTED: pages that need ${lacking.join(' or ')}, not installed here`);
  const directory = await temporaryDirectory();
  const port = await freePort();
  makeClone(directory);
  try {
    const script = scriptOfAll(paths, port);
    const outputs = await runScript(script, directory, { PORT: String(port) });
    const shown = new Map([...outputs].map(([mark, text]) => [mark, text.replaceAll(`:${port}`, ':8080')]));
    const compared = paths.map((path) => holdOutputs(path, shown));
    assert.ok(compared.reduce((sum, count) => sum + count) >= 8, compared.join(', '));
    const page = /^\{"data":\[.*"meta":\{"total":\d+,"limit":5,/s;
    assert.ok(
      [...outputs.values()].some((output) => page.test(output)),
      'the page of the demo',
    );
  } catch (error) {
    for (const name of ['demo.log', 'server.log'])
      context.diagnostic(`${name}: ${readFileSync(join(directory, name), 'utf8').slice(-1000)}`);
    throw error;
  } finally {
    await removeDirectory(directory);
  }
});
