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
 * Arguments of `node` that start the command line: the compiled one, as it is released, which starts several times
 * faster; from its sources where the build is older than they are (`npm test` builds first).
 */
export const cliCommand: readonly string[] = programOf('cli');

/** The same for a service with other intervals of its background work (`serve-often.mjs`). */
export function serviceCommand(intervals: Partial<Intervals>): readonly string[] {
  const entry = `${root}test/support/serve-often.mjs`;
  const modules = pathToFileURL(`${root}${isBuilt ? 'dist' : 'src'}/`).href;
  const loader = isBuilt ? [] : ['--import', import.meta.resolve('tsx')];
  return [...loader, entry, modules, JSON.stringify(intervals)];
}

/** The same for another program of the sources, by its path there without its ending; from any working directory. */
export function programOf(path: string): readonly string[] {
  return isBuilt
    ? [`${root}dist/${path}.js`]
    : ['--import', import.meta.resolve('tsx'), `${root}src/${path}.ts`];
}

/** A module of the sources by its path there without its ending, as it is built where the build is current. */
export function sourceModule<T>(path: string): Promise<T> {
  return import(isBuilt ? `${root}dist/${path}.js` : `${root}src/${path}.ts`) as Promise<T>;
}

/** For `workerFile` and `filename`: the built worker starts in a fifth of the time that one from the sources takes. */
export const builtWorker = isBuilt ? pathToFileURL(`${root}dist/ingest/worker.js`).href : undefined;
