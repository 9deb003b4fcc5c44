import type { CommandSchemas } from '../../contract/document.ts';

/** One thing that was looked at; it is healthy where it has no findings. */
export type Check = CommandSchemas['CliExamination']['checks'][number];
export type Finding = Check['findings'][number];

/** A check of what is stored: a finding is damage, and says what to do about it. */
export function check(name: string, findings: readonly Finding[], notes: readonly string[] = []): Check {
  return { name, about: 'events', healthy: findings.length === 0, findings, notes };
}

/** A check of what the service stands on: every finding says what to do about it. */
export function checkOfPlace(
  name: string,
  findings: readonly Finding[],
  notes: readonly string[] = [],
): Check {
  return { name, about: 'surroundings', healthy: findings.length === 0, findings, notes };
}
