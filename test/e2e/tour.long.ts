import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { holdOutputs, cliWords, makeClone, runScript, scriptOf } from '../support/page-run.ts';
import { patience } from '../support/patience.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';

/** docs/tour.md beside the demo that it is about: the whole one, on the day that its answers are of. */

const day = Date.UTC(2026, 10, 22, 6);

interface Facts {
  readonly url: string;
  readonly organizations: readonly { readonly organization: string; readonly key: string }[];
}

test('the tour finds in the demo what it prints', { timeout: patience(180_000) }, async () => {
  const directory = await temporaryDirectory();
  makeClone(directory);
  const clock = new URL('../support/shifted-clock.mjs', import.meta.url).href;
  const [program = '', ...args] = cliWords.split(' ');
  const demo = spawn(program, [...args, 'demo', '--port', '0', '--json'], {
    cwd: directory,
    env: {
      PATH: process.env['PATH'],
      TMPDIR: directory,
      NODE_OPTIONS: `--import ${clock}`,
      CLOCK_SHIFT_MS: String(day - Date.now()),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(demo, 'exit');
  try {
    const signal = AbortSignal.timeout(patience(90_000));
    const [line] = await once(createInterface({ input: demo.stdout }), 'line', { signal });
    const { url, organizations } = JSON.parse(String(line)) as Facts;
    const keys = new Map(organizations.map(({ organization, key }) => [organization, key]));
    const change = (text: string): string =>
      text
        .replaceAll('http://127.0.0.1:8080', url)
        .replace('ACME=ak_…', `ACME=${keys.get('acme')}`)
        .replace('GLOBEX=ak_…', `GLOBEX=${keys.get('globex')}`);
    const path = 'docs/tour.md';
    const outputs = await runScript(scriptOf({ path, change }, 'demo'), directory, {});
    assert.equal(holdOutputs(path, outputs), 9);
  } finally {
    demo.kill('SIGTERM');
    await ended;
    await removeDirectory(directory);
  }
});
