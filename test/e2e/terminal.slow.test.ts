import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isDirectoryLocked } from '../../src/base/files/directory-lock.ts';
import { cliCommand } from '../support/cli-command.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { eventually } from '../support/http.ts';
import { projectRoot } from '../support/project-root.ts';
import { runCli } from '../support/server.ts';

/** Starts and stops as people do: in a terminal, by npm, in the background of a shell. */

const hasTerminals = spawnSync('script', ['--version']).status === 0;
const skip = hasTerminals ? false : 'script (util-linux), which makes a terminal, is not here';
const node = [process.execPath, ...cliCommand].join(' ');
const startMsMax = 60_000;

let root: string;
before(async () => {
  root = await temporaryDirectory();
});
after(() => removeDirectory(root));

interface Terminal {
  readonly child: ChildProcess;
  readonly ended: Promise<[number | null]>;
  said(): string;
}

/** A command line in its own terminal, which ends with the command's exit code. */
function inTerminal(line: string, env: Readonly<Record<string, string>> = {}): Terminal {
  // Replaces its shell, which would end with another exit code.
  const child = spawn('script', ['-qec', `exec ${line}`, '/dev/null'], {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TMPDIR: root, WORKERS: '1', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  return { child, ended: once(child, 'close') as Promise<[number | null]>, said: () => text };
}

const demos = async () => (await readdir(root)).filter((name) => name.startsWith('auditlog-demo-'));
const gone = (what: string) =>
  eventually(what, async () => ((await demos()).length === 0 ? true : undefined), startMsMax);
const until = (terminal: Terminal, words: string) =>
  eventually(
    words,
    async () => {
      assert.equal(terminal.child.exitCode, null, terminal.said());
      return terminal.said().includes(words) ? true : undefined;
    },
    startMsMax,
  );

describe('in a terminal', { skip }, () => {
  test('Ctrl-C ends a demo that still records: it stops recording, reports that, and leaves nothing', async () => {
    const terminal = inTerminal(`${node} demo --port 0 --events 100000`);
    try {
      await until(terminal, 'recording 70000 events');
      terminal.child.stdin?.write('\u0003');
      assert.deepEqual((await terminal.ended)[0], 0, terminal.said());
      assert.match(terminal.said(), /auditlog demo: stopping/);
      assert.doesNotMatch(terminal.said(), /events of globex|The audit log is at/);
      assert.deepEqual(await demos(), []);
    } finally {
      terminal.child.kill('SIGKILL');
    }
  });

  test('npm run demo uses the built page, prints its steps, and ends cleanly at Ctrl-C', async () => {
    const page = new URL('dist/web/index.html', projectRoot);
    const build = () => spawnSync(process.execPath, ['web/build.mjs', '--if-changed'], { cwd: projectRoot });
    assert.equal(build().status, 0);
    const { mtimeMs } = await stat(page);
    assert.equal(String(build().stderr), 'auditlog: starting\n');
    assert.equal((await stat(page)).mtimeMs, mtimeMs);
    const terminal = inTerminal('npm run -s demo -- --port 0 --events 100');
    try {
      await until(terminal, 'Stop with Ctrl-C');
      const said = terminal.said();
      const steps = [
        'auditlog: starting',
        'auditlog demo: starting the service and its engine',
        'auditlog demo: creating organizations, users and keys',
        'auditlog demo: recording 5000 events of acme',
        'auditlog demo: recording 500 events of globex',
        'auditlog demo: waiting until all events are readable',
        'The audit log is at',
      ].map((words) => said.indexOf(words));
      assert.ok(!steps.includes(-1), said);
      assert.deepEqual(
        steps,
        steps.toSorted((a, b) => a - b),
      );
      assert.equal((await demos()).length, 1);
      terminal.child.stdin?.write('\u0003');
      assert.deepEqual((await terminal.ended)[0], 0, terminal.said());
      assert.deepEqual(await demos(), []);
    } finally {
      terminal.child.kill('SIGKILL');
    }
  });

  test('a terminal that is closed ends what runs in it in good order', async () => {
    const terminal = inTerminal(`${node} demo --port 0 --events 100`);
    await until(terminal, 'Stop with Ctrl-C');
    assert.equal((await demos()).length, 1);
    terminal.child.kill('SIGKILL');
    await gone('the directory to be removed');
  });

  test('Ctrl-C also stops a server, which drains its log', async () => {
    const dataDir = join(root, 'closed');
    const terminal = inTerminal(`${node} serve`, { DATA_DIR: dataDir, PORT: '0' });
    await until(terminal, '"listening"');
    const engine = JSON.parse(await readFile(join(dataDir, 'engine.json'), 'utf8')) as { pid: number };
    assert.ok(engine.pid > 0);
    terminal.child.kill('SIGKILL');
    await eventually('the lock to be free', async () =>
      (await isDirectoryLocked(dataDir)) ? undefined : true,
    );
    // A killed server leaves these two.
    const left = (await readdir(dataDir)).filter((one) => one === 'engine.json' || one === 'server.json');
    assert.deepEqual(left, []);
  });
});

describe('in the background of a shell', () => {
  const json = async (dataDir: string, ...args: string[]) => {
    const { code, stdout, stderr } = await runCli([...args, '--json'], { dataDir, timeoutMs: 150_000 });
    return { code, stderr, value: stdout === '' ? undefined : (JSON.parse(stdout) as unknown) };
  };

  test('status waits for a server started by npm and describes it, and stop ends it', async (context) => {
    const dataDir = join(root, 'background');
    const absent = await json(dataDir, 'status');
    const nothing = { running: false, pid: null, url: null, started_at: null, ready: false, checks: {} };
    assert.deepEqual([absent.code, absent.value], [2, nothing]);
    const npm = spawn('npm', ['run', '-s', 'auditlog', '--', 'serve'], {
      cwd: projectRoot,
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        DATA_DIR: dataDir,
        PORT: '0',
        WORKERS: '1',
      },
      stdio: 'ignore',
    });
    const ended = once(npm, 'exit');
    // A failing test would wait for it without end.
    context.after(() => runCli(['stop'], { dataDir, timeoutMs: 150_000 }));
    const begun = Date.now();
    const status = await json(dataDir, 'status', '--wait');
    assert.equal(status.code, 0, status.stderr);
    const { pid, started_at: startedAt, ...rest } = status.value as { pid: number; started_at: string };
    assert.notEqual(pid, npm.pid);
    assert.ok(Math.abs(Date.parse(startedAt) - begun) < startMsMax, startedAt);
    const { url } = JSON.parse(await readFile(join(dataDir, 'server.json'), 'utf8')) as { url: string };
    const { checks, ...facts } = rest as unknown as { checks: Record<string, boolean> };
    assert.deepEqual(facts, { running: true, url, ready: true });
    assert.ok(
      Object.values(checks).length > 0 && Object.values(checks).every(Boolean),
      JSON.stringify(checks),
    );
    const plain = await runCli(['status', '--data-dir', dataDir], { dataDir: root });
    assert.equal(plain.stdout, `${url} is ready: process ${pid}, since ${startedAt}`);
    const stopped = await json(dataDir, 'stop');
    assert.deepEqual([stopped.code, stopped.value], [0, { pid }], stopped.stderr);
    assert.deepEqual((await ended)[0], 0);
    assert.equal((await json(dataDir, 'stop')).code, 1);
    assert.match((await json(dataDir, 'status')).stderr, /no server runs on DATA_DIR/);
  });
});
