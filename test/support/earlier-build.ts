import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from './project-root.ts';

const root = fileURLToPath(projectRoot);

function run(command: string, cwd: string): void {
  const { status, stderr } = spawnSync('sh', ['-c', command], { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command}: ${stderr}`);
}

/**
 * The command line of this project as it was at a commit, compiled, with the packages of today: for tests that let it work
 * beside this one. The caller removes the directory.
 */
export function buildEarlier(commit: string): { readonly cli: string; remove(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'auditlog-earlier-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    run(`git archive ${JSON.stringify(commit)} | tar -x -C ${JSON.stringify(directory)}`, root);
    symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
    // The packages of today may have other types; what is emitted depends on none.
    run('npx tsc -p tsconfig.build.json --noCheck', directory);
    return { cli: join(directory, 'dist', 'cli.js'), remove };
  } catch (error) {
    remove();
    throw error;
  }
}
