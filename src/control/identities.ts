import type { Storage } from '../storage/storage.ts';
import { ControlTable, field, optionalTime, type RowOf, version } from './control-table.ts';

export const identityTable = new ControlTable('user_identities', 'UUID', {
  /** Of the user. */
  id: field<string>('id'),
  organizationId: field<string>('org'),
  /** Of the provider that the user signs in by, and the user's name there; both empty without one. */
  issuer: field<string>('issuer'),
  subject: field<string>('subject'),
  linkedMicros: optionalTime('linked_at'),
  /** The user's name in the directory that provisions it (SCIM), or empty. */
  externalId: field<string>('external_id'),
  version: version(),
});

/** By what a user is known elsewhere. */
export type UserIdentity = RowOf<typeof identityTable>;

/** Of a user, with what there is to say where nothing has been said. */
export async function identityOfUser(
  storage: Storage,
  { id, organizationId }: Pick<UserIdentity, 'id' | 'organizationId'>,
): Promise<UserIdentity> {
  const [found] = await identityTable.select(storage, 'id = {id:UUID}', { id });
  const nothing = { issuer: '', subject: '', linkedMicros: undefined, externalId: '', version: 0 };
  return found ?? { id, organizationId, ...nothing };
}

/** Of all users of an organization of whom anything has been said. */
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
