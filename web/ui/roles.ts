import type { Role } from '../api/types.ts';
import { t } from './text.ts';

const names = { admin: 'roleAdmin', auditor: 'roleAuditor', member: 'roleMember' } as const;
const meanings = { admin: 'roleAdminMay', auditor: 'roleAuditorMay', member: 'roleMemberMay' } as const;

/** From the one that may do least. */
export const roles: readonly Role[] = ['member', 'auditor', 'admin'];

export function roleName(role: Role): string {
  return t(names[role]);
}

/** What somebody with this role may do. */
export function roleMay(role: Role): string {
  return t(meanings[role]);
}
