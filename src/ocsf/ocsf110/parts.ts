import { type ActivityClass, ocsfClass } from '../activity-classes.ts';
import { toByteText } from '../byte-text.ts';
import { type SourceReading, slot } from '../source-fields.ts';
import { memberOf, privilegesOf } from './context.ts';
import { putFile } from './files.ts';
import { putOrigin } from './endpoint.ts';
import type { Ocsf110Names } from './metadata.ts';
import { observables } from './observed.ts';
import { type Constants, type Output, type Range, shared } from './output.ts';
import { firstText, isText, plainOr, putMember, putToken, textIn } from './tokens.ts';
import { type Lossy, onlyType } from './unmapped.ts';
import { putActivityName } from './words.ts';
import {
  isEmailAddress,
  isUserType,
  observeUser,
  type PutUser,
  putNamedUser,
  putUnknownUser,
  putUser,
  type UserSlots,
} from './users.ts';

const json = {
  actorUser: shared.add(',"actor":{"user":'),
  close: shared.add('}'),
  user: shared.add(',"user":'),
  isMfa: shared.add(',"is_mfa":true'),
  privileges: shared.add(',"privileges":'),
  privilege: shared.add('["'),
  privilegeEnd: shared.add('"]'),
  session: shared.add(',"session":{"uid":"'),
  stringObjectEnd: shared.add('"}'),
  group: shared.add(',"group":'),
  groupName: shared.add(',"name":"'),
  groupUid: shared.add(',"uid":"'),
  organization: shared.add('","type":"Organization"'),
  entity: shared.add(',"entity":'),
  unknownEntity: shared.add(',"name":"Unknown"'),
  operation: shared.add(',"api":{"operation":"'),
  resources: shared.add(',"resources":['),
  resourceType: shared.add(',"type":"'),
  resourcesEnd: shared.add(']'),
};

export interface NamedConstants {
  readonly invokedBy: Range;
  readonly service: Range;
  readonly app: Range;
}

export function namedConstants(constants: Constants, names: Ocsf110Names): NamedConstants {
  const text = (value: string): string => toByteText(JSON.stringify(value));
  const product = text(names.productName);
  return {
    invokedBy: constants.add(`,"actor":{"invoked_by":${text(names.appName)}}`),
    service: constants.add(`,"service":{"name":${product}}`),
    app: constants.add(`,"app":{"name":${product},"vendor_name":${text(names.vendorName)}}`),
  };
}

export interface PartsContext {
  readonly out: Output;
  readonly lossy: Lossy;
  readonly named: NamedConstants;
  readonly organization: string;
  readonly code: number;
}

const actorSlots: UserSlots = {
  uid: slot.actorId,
  name: slot.actorName,
  email: slot.actorEmail,
  type: slot.actorType,
};
/** An actor that is a string is an address. */
const plainActor: UserSlots = {
  uid: slot.actorId,
  name: slot.actor,
  email: slot.actor,
  type: slot.actorType,
};

export function putParts(r: SourceReading, entry: ActivityClass, context: PartsContext): void {
  const { out, lossy, named } = context;
  const start = out.length;
  out.put(json.actorUser);
  const actor = putUser(out, r, isText(r, slot.actor) ? plainActor : actorSlots);
  if (actor === undefined) {
    out.length = start;
    out.put(named.invokedBy);
    if (isText(r, slot.actorType)) lossy[slot.actor] = 1;
  } else {
    out.put(json.close);
    observeUser(out, actor, observables.actor);
    if (actor.lossy !== 'nothing') lossy[slot.actor] = actor.lossy === 'type' ? onlyType : 1;
  }
  putOfClass(r, entry, context, actor);
  if (!putOrigin(out, r, entry.classUid)) lossy[slot.remote] = 1;
}

function putOfClass(
  r: SourceReading,
  entry: ActivityClass,
  context: PartsContext,
  actor: PutUser | undefined,
): void {
  const { out, named } = context;
  switch (entry.classUid) {
    case ocsfClass.file:
      return putFile(out, r);
    case ocsfClass.api:
      return putApi(r, context);
    case ocsfClass.authentication:
      putSubject(out, r, actor, 'actor first');
      out.put(named.service);
      if (entry.isMfa) out.put(json.isMfa);
      return;
    case ocsfClass.account:
      return putAccount(out, r, entry, actor);
    case ocsfClass.entity:
      return putEntity(out, r);
    case ocsfClass.session:
      return putSession(out, r, entry, actor);
    case ocsfClass.access:
      if (isAccount(r)) putSubject(out, r, undefined, 'target first');
      else putMemberUser(out, r);
      return putPrivileges(out, r, entry);
    case ocsfClass.group:
      return putGroup(r, entry, context, actor);
    case ocsfClass.application:
      return out.put(named.app);
    default:
      return entry.classUid satisfies never;
  }
}

const things = new Set(
  (
    'app appinstance application authenticatorenrollment device directoryrole factor file folder group organization ' +
    'policy project repository role session team token usergroup'
  ).split(' '),
);

const isAccount = (r: SourceReading): boolean => !things.has(textIn(r, slot.targetType)?.toLowerCase() ?? '');

function putSubject(
  out: Output,
  r: SourceReading,
  actor: PutUser | undefined,
  order: 'actor first' | 'target first',
): void {
  out.put(json.user);
  if (order === 'actor first' && actor !== undefined) return putActorAgain(out, actor);
  const name = plainOr(r, slot.target, slot.targetName);
  const email = isEmailAddress(textIn(r, name) ?? '') ? name : -1;
  const type = isUserType(textIn(r, slot.targetType)) ? slot.targetType : -1;
  const target = putUser(out, r, { uid: slot.targetId, name, email, type });
  if (target !== undefined) observeUser(out, target, observables.user);
  else if (actor !== undefined) putActorAgain(out, actor);
  else putUnknownUser(out);
}

function putActorAgain(out: Output, actor: PutUser): void {
  out.range(actor.start, actor.end);
  observeUser(out, actor, observables.user);
}

/** People mostly do these to their own account, so an event without a target is about the actor. */
const ownChanges = new Set([3, 4, 9, 10, 11, 99]);

function putAccount(out: Output, r: SourceReading, entry: ActivityClass, actor: PutUser | undefined): void {
  const self = ownChanges.has(entry.activityId) ? actor : undefined;
  if (isAccount(r)) return putSubject(out, r, self, 'target first');
  out.put(json.user);
  if (self === undefined) putUnknownUser(out);
  else putActorAgain(out, self);
}

function putMemberUser(out: Output, r: SourceReading): void {
  out.put(json.user);
  const member = memberOf(r);
  if (member === undefined) putUnknownUser(out);
  else observeUser(out, putNamedUser(out, member), observables.user);
}

function putEntity(out: Output, r: SourceReading): void {
  const name = plainOr(r, slot.target, slot.targetName);
  out.put(json.entity);
  const start = out.length;
  if (firstText(r, name, slot.targetId) < 0) out.put(json.unknownEntity);
  putMember(out, r, name, json.groupName);
  putMember(out, r, slot.targetId, json.groupUid);
  putMember(out, r, slot.targetType, json.resourceType);
  out.closeObject(start);
}

function putApi(r: SourceReading, { out, code }: PartsContext): void {
  out.put(json.operation);
  putActivityName(out, r, code);
  out.put(json.stringObjectEnd);
  const name = plainOr(r, slot.target, slot.targetName);
  if (!isText(r, name) && !isText(r, slot.targetId)) return;
  out.put(json.resources);
  const start = out.length;
  putMember(out, r, name, json.groupName);
  putMember(out, r, slot.targetId, json.groupUid);
  putMember(out, r, slot.targetType, json.resourceType);
  out.closeObject(start);
  out.put(json.resourcesEnd);
}

function putPrivileges(out: Output, r: SourceReading, { privilege }: ActivityClass): void {
  out.put(json.privileges);
  const listed = privilegesOf(r);
  const isRole = textIn(r, slot.targetType)?.toLowerCase().endsWith('role') === true;
  const role = isRole ? firstText(r, slot.targetName, slot.targetId) : -1;
  if (listed !== undefined || role < 0) return out.text(listed ?? JSON.stringify([privilege ?? 'unknown']));
  out.put(json.privilege);
  putToken(out, r, role);
  out.put(json.privilegeEnd);
}

function putSession(out: Output, r: SourceReading, entry: ActivityClass, actor: PutUser | undefined): void {
  putSubject(out, r, actor, isAccount(r) ? 'target first' : 'actor first');
  putPrivileges(out, r, entry);
  const isSession = textIn(r, slot.targetType)?.toLowerCase() === 'session';
  const session = isSession ? firstText(r, slot.targetId, slot.targetName) : -1;
  if (session < 0) return;
  out.put(json.session);
  putToken(out, r, session);
  out.put(json.stringObjectEnd);
}

const addUser = 3;
const removeUser = 4;

/** The group is the target; if a member is the target, it is the organization. */
function putGroup(
  r: SourceReading,
  { activityId }: ActivityClass,
  { out, organization }: PartsContext,
  actor: PutUser | undefined,
): void {
  const isMembership = activityId === addUser || activityId === removeUser;
  const isUser = isMembership && isUserType(textIn(r, slot.targetType));
  const name = plainOr(r, slot.target, slot.targetName);
  out.put(json.group);
  const start = out.length;
  if (isUser || firstText(r, name, slot.targetId) < 0) {
    out.put(json.groupUid);
    out.text(organization);
    out.put(json.organization);
  } else {
    putMember(out, r, name, json.groupName);
    putMember(out, r, slot.targetId, json.groupUid);
  }
  out.closeObject(start);
  if (isUser) return putSubject(out, r, undefined, 'target first');
  if (isMembership || actor === undefined) return putMemberUser(out, r);
  out.put(json.user);
  putActorAgain(out, actor);
}
