import type { CommandSchemas } from '../../contract/document.ts';

export type Check = CommandSchemas['CliExamination']['checks'][number];
export type Finding = Check['findings'][number];

/** A check of stored data: a finding is damage, with its remedy. */
export function check(name: string, findings: readonly Finding[], notes: readonly string[] = []): Check {
  return { name, about: 'events', healthy: findings.length === 0, findings, notes };
}

export function hostCheck(name: string, findings: readonly Finding[], notes: readonly string[] = []): Check {
  return { name, about: 'surroundings', healthy: findings.length === 0, findings, notes };
}
