import { strict as assert } from 'node:assert';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { projectRoot } from '../support/project-root.ts';

/** Files of deploy/ before the programs that read them, where these are installed. What runs is in test/deploy. */

const run = promisify(execFile);
/** Of 10. systemd 252 rates 1.4; other releases differ a little. */
const exposureMax = 2;

/** What a program has said; undefined where it is not installed. */
async function saidBy(program: string, args: readonly string[]): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run(program, [...args]);
    return stdout + stderr;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

describe('files of deploy/', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'auditlog-deploy-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  test('the systemd unit is one that systemd takes, and leaves the service little', async (context) => {
    const file = new URL('deploy/systemd/auditlog.service', projectRoot);
    // Its program has to be where it says; Node may be elsewhere on this machine.
    const unit = (await readFile(file, 'utf8')).replace('/usr/bin/node', process.execPath);
    assert.ok(unit.includes(process.execPath));
    const path = join(folder, 'auditlog.service');
    await writeFile(path, unit);
    const said = await saidBy('systemd-analyze', ['verify', path]);
    if (said === undefined) return context.skip('NOT TESTED: systemd-analyze is not installed');
    const own = said.split('\n').filter((line) => line.includes('auditlog.service'));
    assert.deepEqual(own, []);
    const security = (await saidBy('systemd-analyze', ['security', '--offline=true', path])) ?? '';
    const exposure = Number(/exposure level for .*: ([\d.]+)/.exec(security)?.[1]);
    assert.ok(exposure <= exposureMax, security.slice(-200));
  });

  test('the units of the backup are ones that systemd takes', async (context) => {
    const paths = ['service', 'timer'].map((ending) => `deploy/systemd/auditlog-backup.${ending}`);
    const said = await saidBy('systemd-analyze', ['verify', ...paths]);
    if (said === undefined) return context.skip('NOT TESTED: systemd-analyze is not installed');
    assert.deepEqual(
      said.split('\n').filter((line) => line.includes('auditlog-backup')),
      [],
    );
  });

  test('the manifests are a kustomization', async (context) => {
    const said = await saidBy('kubectl', ['kustomize', 'deploy/kubernetes']);
    if (said === undefined) return context.skip('NOT TESTED: kubectl is not installed');
    for (const kind of ['StatefulSet', 'PodDisruptionBudget', 'NetworkPolicy', 'Service', 'ConfigMap'])
      assert.ok(said.includes(`kind: ${kind}\n`), kind);
    assert.match(said, /image: registry\.example\/auditlog:/);
  });
});
