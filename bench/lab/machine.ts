import { execFileSync } from 'node:child_process';
import { cpus, release, totalmem, type } from 'node:os';
import type { Machine } from '../stats/result.ts';

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGigabytes: Math.round(totalmem() / 1024 ** 3),
    node: process.version,
    system: `${type()} ${release()}`,
  };
}

/** The measured commit, marked if files differ from it; `unknown` outside of a repository. */
export function describeCommit(): string {
  try {
    const text = execFileSync('git', ['describe', '--always', '--dirty', '--abbrev=10'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return text.trim();
  } catch {
    return 'unknown';
  }
}
