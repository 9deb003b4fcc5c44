import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { documentText, pages } from '../support/markdown.ts';
import { holdOutputs, makeClone, type Page, runScript, scriptOf } from '../support/page-run.ts';
import { patience } from '../support/patience.ts';
import { freePort } from '../support/plain-engine.ts';
import { projectRoot } from '../support/project-root.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';

/**
 * Runs the commands of README and the pages of `docs` in order, in a new directory, beside the server that README
 * starts, with its organization and key.
 */

const usualPort = 8080;
const fixtures = fileURLToPath(new URL('test/fixtures/adapters/', projectRoot));

/** What readers of a page have before. */
const before: Readonly<Record<string, string>> = {
  'docs/adapters.md': `gzip -c ${fixtures}cloudtrail.json > 1234_CloudTrail_eu-central-1_20240601T0000Z.json.gz
    cp ${fixtures}kubernetes.json events.json`,
};

/**
 * Commands run as printed, with these exceptions: `npm ci`, `npm test` and two others would change or run this
 * test. `npm run auditlog` and `npx auditlog` run once each; elsewhere the built program replaces them, which
 * starts in a fifth of the time. The demo runs in the background with fewer events, and its key is read from its
 * output. `doctor` may find this machine's disk slow. On a busy machine an event takes longer to become readable.
 * If another program has port 8080, PORT is set.
 */
const stage = (port: number) => `
auditlog() { node dist/cli.js "$@"; }
npx() {
  case "$*" in
    'auditlog --version') command npx "$@" ;;
    *) auditlog "\${@:2}" ;;
  esac
}
npm() {
  case "$*" in
    ci | test | 'run build' | 'run bench '*) ;;
    'run demo') set -m; command npm run demo -- --events 100 > demo.log 2>&1 & demo=$!; set +m
      until grep -q 'Stop with Ctrl-C' demo.log; do kill -0 $demo || exit 1; command sleep 0.1; done ;;
    'run -s auditlog -- doctor'*) auditlog "\${@:5}" || { local code=$?; [ $code = 1 ] || return $code; is_of_machine; } ;;
    'run -s auditlog -- status --wait') command npm "$@" ;;
    'run -s auditlog -- '*) auditlog "\${@:5}" ;;
    *) command npm "$@" ;;
  esac
}
is_of_machine() {
  auditlog doctor --quick --json | node -e '
    const { checks } = JSON.parse(fs.readFileSync(0));
    const ofMachine = ["disk_space", "file_system", "synced_writes"];
    process.exit(checks.every(({ name, healthy }) => healthy || ofMachine.includes(name)) ? 0 : 1)'
}
sleep() {
  command sleep "$1"
  [ "$1" != 1.5 ] || until curl -s http://127.0.0.1:${port}/api/v1/audit -H "X-API-Key: $KEY" | grep -q 'zoe@acme'; do command sleep 0.1; done
}
trap '[ -z "$demo" ] || kill -INT -- -$demo; auditlog stop; wait' EXIT
`;

/** A terminal signals all its processes. The demo exits with 0 and removes its directory. */
const ctrlC = `
kill -INT -- -$demo
wait $demo
demo=
data=$(grep -om1 '/[^ ]*/auditlog-demo-[A-Za-z0-9]*' demo.log)
test ! -e "$data"
`;

/** README stops its demo after the request, and continues in the same shell; each other page has its own. */
function scriptOfAll(paths: readonly string[], port: number): string {
  const change = (text: string): string => {
    const own = text
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
      .replace("'X-API-Key: ak_…'", '"X-API-Key: $(grep -om1 "ak_[A-Za-z0-9_-]*" demo.log)"');
    return own + (text.includes('ak_…') ? ctrlC : '');
  };
  const parts = paths.map((path) => {
    const page: Page = { path, before: before[path] ?? '', change };
    const script = scriptOf(page);
    return path === 'README.md' || script === '' ? script : `(\n${script})\n`;
  });
  return stage(port) + parts.join('');
}

/** Programs that a machine may lack; pages that need them are skipped. */
const lacking = ['jq', 'openssl'].filter(
  (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error !== undefined,
);

function isRunnable(path: string): boolean {
  const text = documentText(path);
  return !lacking.some((program) => new RegExp(`(^|\\| )${program} `, 'm').test(text));
}

test('every command of README and docs has the output printed there', {
  timeout: patience(360_000),
}, async (context) => {
  assert.ok(existsSync(new URL('dist/client/client.js', projectRoot)), 'npm run build comes first');
  const paths = pages().filter(isRunnable);
  if (lacking.length > 0)
    context.diagnostic(`NOT TESTED: pages that need ${lacking.join(' or ')}, not installed here`);
  const directory = await temporaryDirectory();
  const port = await freePort(usualPort);
  makeClone(directory);
  try {
    const script = scriptOfAll(paths, port);
    const outputs = await runScript(script, directory, port === usualPort ? {} : { PORT: String(port) });
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
