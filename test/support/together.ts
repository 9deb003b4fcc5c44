import { describe } from 'node:test';
import { projectRoot } from './project-root.ts';
// First, so that shared fixtures end after the last file.
import './shared.ts';
import { testFiles } from './test-files.mjs';

/** Runs every `of`-th test file of a kind in this process, one after the other, with its own hooks. */
export function runTogether(
  kind: Exclude<Parameters<typeof testFiles>[0], 'alone'>,
  part: number,
  of: number,
): void {
  for (const path of testFiles(kind).filter((_, n) => n % of === part - 1))
    describe(path, async () => {
      await import(new URL(path, projectRoot).href);
    });
}
