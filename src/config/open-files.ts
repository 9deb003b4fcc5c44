import { descriptorsMax } from '../base/processes/descriptors.ts';
import { ConfigError } from './config.ts';

/** Throws a ConfigError if few files may be open: an engine would fail in a merge. */
export function checkOpenFiles(): void {
  const allowed = descriptorsMax();
  if (allowed >= limits.openFilesMin) return;
  throw new ConfigError([
    `the limit of open files is ${allowed} (ulimit -Hn, or LimitNOFILE= of systemd): at least ${limits.openFilesMin} are needed`,
  ]);
}

const limits = {
  /** A merge of a few hundred thousand events opens some 300 files, and each connection is one. */
  openFilesMin: 1024,
} as const;
