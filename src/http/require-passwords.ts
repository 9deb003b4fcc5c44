import { Problem } from '../base/errors/problem.ts';
import type { EndpointDeps } from './deps.ts';

/** Throws Problem `conflict` where passwords are off in an organization: none is set that would be good for nothing. */
export function requirePasswords(
  { directory }: Pick<EndpointDeps, 'directory'>,
  organizationId: string,
): void {
  if (directory.signOnOf(organizationId).passwords) return;
  const detail = 'Passwords are off in this organization: people sign in by its provider.';
  throw new Problem('conflict', detail);
}
