import { strict as assert } from 'node:assert';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { cliCommand } from '../support/cli-command.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { eventually } from '../support/http.ts';
import { patience } from '../support/patience.ts';
import { projectRoot } from '../support/project-root.ts';

interface Facts {
  readonly url: string;
  readonly events: number;
  readonly organizations: readonly {
    readonly organization: string;
    readonly key: string;
    readonly clues: readonly { readonly title: string; readonly query: Readonly<Record<string, string>> }[];
    readonly logins: readonly { readonly email: string; readonly role: string; readonly password: string }[];
  }[];
}

let root: string;
before(async () => {
  root = await temporaryDirectory();
});
after(() => removeDirectory(root));

function startDemo(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [...cliCommand, 'demo', '--port', '0', '--json', ...args], {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'], TMPDIR: root, WORKERS: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Runs a demo until it is ready, passes it on, and stops it; it must exit with 0. */
async function withDemo(args: readonly string[], use: (facts: Facts) => Promise<void>): Promise<void> {
  const demo = startDemo(args);
  const ended = once(demo, 'exit') as Promise<[number | null]>;
  try {
    const lines = createInterface({ input: demo.stdout ?? assert.fail('no output') });
    const signal = AbortSignal.timeout(patience(60_000));
    const line = (await Promise.race([once(lines, 'line', { signal }), ended]))[0];
    await use(JSON.parse(String(line)) as Facts);
  } finally {
    demo.kill('SIGTERM');
  }
  assert.equal((await ended)[0], 0);
}

async function total(facts: Facts, index: number, query = ''): Promise<number> {
  const key = facts.organizations[index]?.key ?? '';
  const signal = AbortSignal.timeout(patience(10_000));
  const answer = await fetch(`${facts.url}/api/v1/audit?limit=1${query}`, {
    headers: { 'x-api-key': key },
    signal,
  });
  assert.equal(answer.status, 200);
  return ((await answer.json()) as { meta: { total: number } }).meta.total;
}

test('shows two organizations with events, keys and logins, and leaves nothing behind', async () => {
  await withDemo(['--events', '6000'], async (facts) => {
    assert.equal(facts.events, 6000);
    assert.deepEqual(
      facts.organizations.map(({ organization }) => organization),
      ['acme', 'globex'],
    );
    // And the events of making two organizations, six users and two keys.
    assert.equal((await total(facts, 0)) + (await total(facts, 1)), 6000 + 10);
    for (const { logins } of facts.organizations) {
      assert.deepEqual(
        logins.map(({ role }) => role),
        ['admin', 'auditor', 'member'],
      );
      for (const { password } of logins) assert.ok(password.length >= 12);
    }
    const member = facts.organizations[0]?.logins[2]?.email ?? '';
    assert.ok((await total(facts, 0, `&actor=${encodeURIComponent(member)}`)) > 0);
    for (const [index, { clues }] of facts.organizations.entries()) {
      assert.ok(clues.length > 1);
      for (const { title, query } of clues)
        assert.ok((await total(facts, index, `&${new URLSearchParams(query).toString()}`)) > 0, title);
    }
  });
  assert.deepEqual(
    readdirSync(root).filter((name) => name.startsWith('auditlog-demo-')),
    [],
  );
});

test('in its own directory it continues, with new passwords and keys and the same clues', async () => {
  const args = ['--data-dir', join(root, 'kept'), '--events', '400'];
  let first: Facts | undefined;
  await withDemo(args, async (facts) => {
    first = facts;
  });
  await withDemo(args, async (facts) => {
    assert.equal(facts.events, 0);
    // As many as the stories need, and the events of both demos: six passwords and two keys came with the second.
    await eventually('the events of the new keys', async () =>
      (await total(facts, 0)) + (await total(facts, 1)) === 5500 + 10 + 8 ? true : undefined,
    );
    const cluesOf = (demo?: Facts) => demo?.organizations.map(({ clues }) => clues);
    assert.deepEqual(cluesOf(facts), cluesOf(first));
    assert.notEqual(facts.organizations[0]?.key, first?.organizations[0]?.key);
  });
});
