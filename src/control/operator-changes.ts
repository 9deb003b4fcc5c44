import { createApiKey, revokeApiKey, rotateApiKey } from './api-keys.ts';
import { changeOfDamage, storableText } from './change-events.ts';
import { together, type Call, type Decide } from './decision.ts';
import { beginDeletion, endDeletion } from './deletion.ts';
import type { Directory } from './directory.ts';
import { beginErasure } from './erasure.ts';
import type { JournalDamage } from './journal.ts';
import { createWithAdministrator } from './new-organization.ts';
import {
  type ChangedOrganization,
  createOrganization,
  type OrganizationSettings,
  updateOrganization,
} from './organizations.ts';
import { placeHold, type PolicyPreview, releaseHold } from './retention.ts';
import { SealedSecrets } from './sealed-secret.ts';
import { setPasswords, type SignOnInput, updateSignOn } from './sign-on-settings.ts';
import { changeRole, createUser, disableUser, enableUser, setPassword } from './users.ts';

/** Both or neither. */
function setOrganization(
  reference: string,
  settings: OrganizationSettings,
  removed: PolicyPreview | undefined,
  passwords: Parameters<typeof setPasswords>[1] | undefined,
): Decide<ChangedOrganization> {
  const update = updateOrganization(reference, settings, removed);
  if (passwords === undefined) return update;
  const change = setPasswords(reference, passwords);
  return (state, moment) => together(change(state, moment), update(state, moment));
}

/** Accepts damaged rows of the journal, with an event of each organization concerned. */
function acceptDamage(damage: readonly JournalDamage[], operator: string): Decide<undefined> {
  const parts = damage.map(({ place }) => ['accepted_damage', { id: String(place), operator }] as const);
  return (state) => {
    const changes = state.knownOrganizations().flatMap((one) => {
      const its = damage.filter(({ organization = one.id }) => organization === one.id);
      return its.length === 0 ? [] : [changeOfDamage(one, its)];
    });
    return { parts, changes, result: undefined };
  };
}

/** Source events without a change; they name organizations by id. */
function recordEvents(events: readonly object[]): Decide<undefined> {
  const texts = events.map(storableText);
  return () => ({ parts: [], changes: [], events: texts, result: undefined });
}

/**
 * Changes by commands, by their names at the server's socket. The functions check input; only operators with the same version
 * can use the socket.
 */
const operatorChanges = {
  acceptDamage,
  beginDeletion,
  beginErasure,
  changeRole,
  createApiKey,
  createOrganization,
  createUser,
  createWithAdministrator,
  disableUser,
  enableUser,
  endDeletion,
  placeHold,
  recordEvents,
  releaseHold,
  revokeApiKey,
  rotateApiKey,
  setOrganization,
  setPassword,
  setSignOn: (reference: string, input: SignOnInput, secret: string) =>
    updateSignOn(reference, input, new SealedSecrets(secret)),
};

type Changes = typeof operatorChanges;
export type ChangeName = keyof Changes;
export type ValuesOf<Name extends ChangeName> = Parameters<Changes[Name]>;
export type ResultOf<Name extends ChangeName> =
  ReturnType<Changes[Name]> extends Decide<infer Result> ? Result : never;

/** Here, or by the server of the data directory. Rejects as `Directory.change`. */
export type OperatorChange = <Name extends ChangeName>(
  name: Name,
  ...values: ValuesOf<Name>
) => Promise<ResultOf<Name>>;

export function isChangeName(name: string): name is ChangeName {
  return Object.hasOwn(operatorChanges, name);
}

export function changeHere<Name extends ChangeName>(
  directory: Directory,
  call: Call,
  name: Name,
  values: ValuesOf<Name>,
): Promise<ResultOf<Name>> {
  const changes: { [One in ChangeName]: (...values: ValuesOf<One>) => Decide<ResultOf<One>> } =
    operatorChanges;
  return directory.change(call, changes[name](...values));
}
