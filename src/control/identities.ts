import type { Storage } from '../storage/storage.ts';
import { ControlTable, field, optionalTime, type RowOf, version } from './control-table.ts';

export const identityTable = new ControlTable('user_identities', 'UUID', {
  /** The user's id. */
  id: field<string>('id'),
  organizationId: field<string>('org'),
  /** The provider that the user signs in by; empty without one, as is the user's name there. */
  issuer: field<string>('issuer'),
  subject: field<string>('subject'),
  linkedMicros: optionalTime('linked_at'),
  /** The user's name in the directory that provisions it (SCIM), or empty. */
  externalId: field<string>('external_id'),
  version: version(),
});

/** By what a user is known elsewhere. */
export type UserIdentity = RowOf<typeof identityTable>;

/** The identity of a user; with its defaults where nothing is stored. */
export async function identityOfUser(
  storage: Storage,
  { id, organizationId }: Pick<UserIdentity, 'id' | 'organizationId'>,
): Promise<UserIdentity> {
  const [found] = await identityTable.select(storage, 'id = {id:UUID}', { id });
  const nothing = { issuer: '', subject: '', linkedMicros: undefined, externalId: '', version: 0 };
  return found ?? { id, organizationId, ...nothing };
}

/** The identities of an organization's users that are stored. */
export function identitiesOf(storage: Storage, organizationId: string): Promise<UserIdentity[]> {
  return identityTable.select(storage, 'org = {org:UUID}', { org: organizationId });
}

/** Users by the name that their directory has for them. */
export async function usersOfExternalId(
  storage: Storage,
  organizationId: string,
  externalId: string,
): Promise<string[]> {
  if (externalId === '') return [];
  const condition = 'org = {org:UUID} AND external_id = {external:String}';
  const found = await identityTable.select(storage, condition, { org: organizationId, external: externalId });
  return found.map(({ id }) => id);
}

/** Who signs in by a provider's name, in one organization. */
export async function identityOfSubject(
  storage: Storage,
  organizationId: string,
  { issuer, subject }: { readonly issuer: string; readonly subject: string },
): Promise<UserIdentity | undefined> {
  const condition = 'org = {org:UUID} AND issuer = {issuer:String} AND subject = {subject:String}';
  const [found] = await identityTable.select(storage, condition, { org: organizationId, issuer, subject });
  return found;
}
