import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from './project-root.ts';

const root = fileURLToPath(projectRoot);

function run(command: string, cwd: string): void {
  const { status, stderr } = spawnSync('sh', ['-c', command], { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command}: ${stderr}`);
}

interface Build {
  readonly cli: string;
  remove(): void;
}

/**
 * The command line of this project as it was at a commit, compiled, with the packages of today: for tests that let it work
 * beside this one. The caller removes the directory.
 */
export function buildEarlier(commit: string): Build {
  return buildOf((directory) => {
    run(`git archive ${JSON.stringify(commit)} | tar -x -C ${JSON.stringify(directory)}`, root);
  });
}

/** This project with further migrations, by the names of their files: a later release. */
export function buildLater(migrations: Readonly<Record<string, string>>): Build {
  return buildOf((directory) => {
    run(`cp -r src schema package.json tsconfig.json tsconfig.build.json ${JSON.stringify(directory)}`, root);
    for (const [name, text] of Object.entries(migrations))
      writeFileSync(join(directory, 'schema', 'migrations', name), text);
  });
}

function buildOf(fill: (directory: string) => void): Build {
  const directory = mkdtempSync(join(tmpdir(), 'auditlog-earlier-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    fill(directory);
    symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'));
    // The packages of today may have other types; what is emitted depends on none.
    run('npx tsc -p tsconfig.build.json --noCheck', directory);
    return { cli: join(directory, 'dist', 'cli.js'), remove };
  } catch (error) {
    remove();
    throw error;
  }
}
