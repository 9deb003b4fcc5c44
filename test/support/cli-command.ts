import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Intervals } from '../../src/service/base.ts';
import { projectRoot } from './project-root.ts';

const root = fileURLToPath(projectRoot);

function newestMs(directory: string): number {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Math.max(0, ...files.map((entry) => statSync(`${entry.parentPath}/${entry.name}`).mtimeMs));
}

function buildIsCurrent(): boolean {
  try {
    return statSync(`${root}dist/cli.js`).mtimeMs >= newestMs(`${root}src`);
  } catch {
    return false;
  }
}

const isBuilt = buildIsCurrent();

/**
 * Arguments of `node` for the command line: compiled, which starts several times faster; from the sources if
 * the build is older.
 */
export const cliCommand: readonly string[] = programOf('cli');

/** For a service with other background intervals (`serve-often.mjs`). */
export function serviceCommand(intervals: Partial<Intervals>): readonly string[] {
  const entry = `${root}test/support/serve-often.mjs`;
  const modules = pathToFileURL(`${root}${isBuilt ? 'dist' : 'src'}/`).href;
  const loader = isBuilt ? [] : ['--import', import.meta.resolve('tsx')];
  return [...loader, entry, modules, JSON.stringify(intervals)];
}

/** For another program by its path without extension. */
export function programOf(path: string): readonly string[] {
  return isBuilt
    ? [`${root}dist/${path}.js`]
    : ['--import', import.meta.resolve('tsx'), `${root}src/${path}.ts`];
}

/** A module by its path without extension, built if the build is current. */
export function sourceModule<T>(path: string): Promise<T> {
  return import(isBuilt ? `${root}dist/${path}.js` : `${root}src/${path}.ts`) as Promise<T>;
}

/** The built worker starts in a fifth of the time. */
export const builtWorker = isBuilt ? pathToFileURL(`${root}dist/ingest/worker.js`).href : undefined;
