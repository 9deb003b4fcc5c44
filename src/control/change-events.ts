import { formatMicros, formatMicrosIfAny } from '../base/time/timestamp.ts';
import type {
  ApiKey,
  Organization,
  RetentionPolicy,
  SignOnSettings,
  StoredErasure,
  User,
  UserIdentity,
} from './records.ts';

/** A user, a program or an operator; absent if unknown. */
export interface EventActor {
  readonly id?: string;
  readonly name?: string;
  readonly email?: string;
  readonly type: 'User' | 'App/System';
}

/** Of the request; all its events share the UUID. */
export interface EventOrigin {
  /** IPv4 or IPv6 text. */
  readonly ip: string;
  /** Decimal text; `"0"` if unknown. */
  readonly port: string;
  readonly flowId: string;
}

/** The service's own activities that an organization can see (contract: Sessions). */
export interface ServiceEvent {
  /** UUID */
  readonly organizationId: string;
  readonly code: number;
  readonly level: 'INFO' | 'WARN' | 'ERROR';
  readonly msg: string;
  readonly actor: EventActor;
  readonly target?: EventTarget;
  readonly result: { readonly title: string; readonly code: number };
  /** JSON values, without any password, key, token or digest. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

interface EventTarget {
  readonly id: string;
  readonly name: string;
  readonly type: 'organization' | 'user' | 'api_key';
}

export interface Change extends Pick<ServiceEvent, 'organizationId' | 'msg' | 'extra'> {
  readonly code: ChangeCode;
  readonly target: EventTarget;
}

/** Codes (contract: Activities); a test compares them with the registry. */
export const changeCodes = {
  userCreated: 1000,
  loggedOut: 1003,
  userUpdated: 1004,
  userDisabled: 1006,
  userEnabled: 1007,
  userLinked: 1008,
  passwordChanged: 1010,
  passwordLinkMade: 1011,
  passwordReset: 1012,
  roleChanged: 1020,
  apiKeyCreated: 1300,
  apiKeyRevoked: 1302,
  apiKeyRotated: 1303,
  signOnUpdated: 1221,
  organizationCreated: 5010,
  organizationUpdated: 5011,
  retentionChanged: 5013,
  legalHoldPlaced: 5014,
  legalHoldReleased: 5015,
  personErased: 5016,
  removalPlanned: 5017,
  removalCancelled: 5018,
  damageAccepted: 4041,
  exported: 2030,
} as const;

type ChangeCode = (typeof changeCodes)[keyof typeof changeCodes];

const keyWords = { apiKeyCreated: 'created', apiKeyRotated: 'rotated', apiKeyRevoked: 'revoked' } as const;

/** None for a key of all organizations. `endsUnseen`: ends the secret of an earlier try whose answer may be lost. */
export function changesOfKey(key: ApiKey, what: keyof typeof keyWords, endsUnseen = false): Change[] {
  const { id, name, organizationId, scopes } = key;
  if (organizationId === undefined) return [];
  const times = {
    expires_at: formatMicrosIfAny(key.expiresMicros),
    ...(what === 'apiKeyRotated' && { previous_valid_until: formatMicrosIfAny(key.previousUntilMicros) }),
  };
  return [
    {
      organizationId,
      code: changeCodes[what],
      target: { id, name: name === '' ? id : name, type: 'api_key' },
      msg: `API key ${id} ${keyWords[what]}`,
      extra: { scopes, ...times, ...(endsUnseen && { unseen_secret_ended: true }) },
    },
  ];
}

const userWords = {
  userCreated: (email: string) => `User ${email} created`,
  userUpdated: (email: string) => `User ${email} changed`,
  userDisabled: (email: string) => `User ${email} disabled`,
  userEnabled: (email: string) => `User ${email} enabled`,
  userLinked: (email: string) => `User ${email} linked to an identity of the sign-on by the address`,
  passwordChanged: (email: string) => `Password of ${email} changed`,
  passwordLinkMade: (email: string) => `Link for a password of ${email} made`,
  passwordReset: (email: string) => `Password of ${email} chosen by a link`,
  roleChanged: (email: string) => `Role of ${email} changed`,
  loggedOut: (email: string) => `${email} signed out`,
};

export function keyActor({ id, name }: ApiKey): EventActor {
  return { id, name: name === '' ? id : name, type: 'App/System' };
}

/** `before`: for a change of the role. */
export function changeOfUser(user: User, what: keyof typeof userWords, before?: User): Change {
  const { id, organizationId, email, role } = user;
  return {
    organizationId,
    code: changeCodes[what],
    target: { id, name: email, type: 'user' },
    msg: userWords[what](email),
    extra: { role, ...(before && { previous: { role: before.role } }) },
  };
}

/** A provider's subject is linked to the user by address. */
export function changeOfLink(
  user: User,
  { issuer, subject }: Pick<UserIdentity, 'issuer' | 'subject'>,
): Change {
  const change = changeOfUser(user, 'userLinked');
  return { ...change, extra: { ...change.extra, issuer, subject } };
}

/** `90d`, `off` or `default`. */
export function retentionText({ retentionDays }: Organization): string {
  if (retentionDays === undefined) return 'default';
  return retentionDays === 0 ? 'off' : `${retentionDays}d`;
}

function settingsOf(organization: Organization) {
  return {
    name: organization.name,
    retention: retentionText(organization),
    receipts: organization.receipts,
  };
}

/** `before`: to name the settings that differ. */
export function changeOfOrganization(
  organization: Organization,
  what: 'organizationCreated' | 'organizationUpdated',
  before?: Organization,
): Change {
  const { id, slug } = organization;
  const settings = settingsOf(organization);
  const differs = ([name, value]: [string, string]) => settings[name as keyof typeof settings] !== value;
  const previous = before && Object.fromEntries(Object.entries(settingsOf(before)).filter(differs));
  return {
    organizationId: id,
    code: changeCodes[what],
    target: { id, name: slug, type: 'organization' },
    msg: `Organization ${slug} ${what === 'organizationCreated' ? 'created' : 'changed'}`,
    extra: { ...settings, previous },
  };
}

const policyWords = {
  retentionChanged: (slug: string) => `Retention of ${slug} changed`,
  legalHoldPlaced: (slug: string) => `Legal hold on ${slug} placed`,
  legalHoldReleased: (slug: string) => `Legal hold on ${slug} released`,
};

/** Has the whole policy, by which `verify` distinguishes removals from losses (tlog/policy.ts). */
export function changeOfPolicy(
  { id, slug }: Pick<Organization, 'id' | 'slug'>,
  what: keyof typeof policyWords,
  { days, heldMicros, version }: RetentionPolicy,
  facts: { readonly reason?: string; readonly removes?: number } = {},
): Change {
  return {
    organizationId: id,
    code: changeCodes[what],
    target: { id, name: slug, type: 'organization' },
    msg: policyWords[what](slug),
    extra: {
      policy: { version: String(version), days: days ?? null, held: heldMicros !== undefined },
      ...facts,
    },
  };
}

const removalWords = {
  removalPlanned: (slug: string, n: string) => `Removal of ${n} expired events of ${slug} planned`,
  removalCancelled: (slug: string, n: string) => `Removal of ${n} expired events of ${slug} cancelled`,
};

/** Expired events that will be removed, or no longer will. */
export function changeOfRemoval(
  { id, slug }: Pick<Organization, 'id' | 'slug'>,
  what: keyof typeof removalWords,
  { beforeMicros, events }: { readonly beforeMicros: number; readonly events: number },
): Change {
  return {
    organizationId: id,
    code: changeCodes[what],
    target: { id, name: slug, type: 'organization' },
    msg: removalWords[what](slug, String(events)),
    extra: { before: formatMicros(beforeMicros), events },
  };
}

/** All but the secret. */
export function signOnView(settings: SignOnSettings) {
  const own = settings.provider === 'own';
  return {
    provider: settings.provider,
    issuer: own ? settings.issuer : undefined,
    client_id: own ? settings.clientId : undefined,
    scopes: settings.scopes,
    trust_email: settings.trustEmail,
    link_email: settings.linkEmail,
    create: settings.createUsers,
    role_claim: settings.roleClaim === '' ? undefined : settings.roleClaim,
    admin_values: settings.adminValues,
    auditor_values: settings.auditorValues,
    member_values: settings.memberValues,
    default_role: settings.defaultRole,
    passwords: settings.passwords,
    proven_at: formatMicrosIfAny(settings.provenMicros),
  };
}

/** `secret` in `changed` says only that there is another one. */
export function changeOfSignOn(
  { id, slug }: Organization,
  before: SignOnSettings,
  now: SignOnSettings,
): Change {
  const [earlier, later] = [signOnView(before), signOnView(now)] as const;
  const names = Object.keys(later) as (keyof typeof later)[];
  const changed = names.filter((name) => JSON.stringify(earlier[name]) !== JSON.stringify(later[name]));
  const hasOtherSecret = before.clientSecret !== now.clientSecret;
  return {
    organizationId: id,
    code: changeCodes.signOnUpdated,
    target: { id, name: slug, type: 'organization' },
    msg: `Sign-on of ${slug} changed`,
    extra: {
      ...later,
      previous: Object.fromEntries(changed.map((name) => [name, earlier[name]])),
      ...(hasOtherSecret && { client_secret_changed: true }),
    },
  };
}

/** Has the hash of the list for `verify` (tlog/erasure.ts), and nothing about the person. */
export function changeOfErasure({ id, organizationId, pseudonym, events, digest }: StoredErasure): Change {
  return {
    organizationId,
    code: changeCodes.personErased,
    target: { id: pseudonym, name: pseudonym, type: 'user' },
    msg: `A person was erased from ${events} events`,
    extra: { erasure: { id, pseudonym, events, digest } },
  };
}

const damageNamedMax = 20;

/** An operator accepts damaged rows of the journal. */
export function changeOfDamage(
  { id, slug }: Pick<Organization, 'id' | 'slug'>,
  damage: readonly { readonly place: number; readonly detail: string }[],
): Change {
  const rows = damage.slice(0, damageNamedMax).map(({ place, detail }) => ({ place, detail }));
  return {
    organizationId: id,
    code: changeCodes.damageAccepted,
    target: { id, name: slug, type: 'organization' },
    msg: `Damage of the control data of ${slug} accepted`,
    extra: { damage: { count: damage.length, rows } },
  };
}

export function changesOfSettings({
  before,
  now,
  policy,
}: {
  readonly before: Organization;
  readonly now: Organization;
  readonly policy:
    | { readonly before: RetentionPolicy; readonly now: RetentionPolicy; readonly removes: number }
    | undefined;
}): Change[] {
  const isNewPolicy = policy !== undefined && policy.before !== policy.now;
  return [
    ...(before === now ? [] : [changeOfOrganization(now, 'organizationUpdated', before)]),
    ...(isNewPolicy
      ? [changeOfPolicy(now, 'retentionChanged', policy.now, { removes: policy.removes })]
      : []),
  ];
}

export function userActor({ id, name, email }: User): EventActor {
  return { id, name, email, type: 'User' };
}

export function eventOfChange(change: Change, actor: EventActor): ServiceEvent {
  return { ...change, level: 'INFO', actor, result: { title: 'OK', code: 200 } };
}

/** Recorded before the first byte. `details`: the format and the given filters. */
export function exported(
  actor: EventActor,
  organizationId: string,
  details: Readonly<Record<string, unknown>>,
): ServiceEvent {
  const { id, name, email } = actor;
  const by = email ?? (id === undefined ? `${name} on the command line` : `API key ${id}`);
  const result = { title: 'OK', code: 200 };
  const msg = `Audit events exported by ${by}`;
  return { organizationId, code: changeCodes.exported, level: 'INFO', msg, actor, result, extra: details };
}

/** The source event (contract: Ingest); time in Unix microseconds. */
export function sourceEvent(event: ServiceEvent, nowMicros: number, origin?: EventOrigin): object {
  const time = formatMicros(nowMicros);
  return {
    time,
    level: event.level,
    msg: event.msg,
    message: {
      timestamp: time,
      actor: event.actor,
      action: event.code,
      ...(event.target !== undefined && { target: event.target }),
      result: event.result,
      ...(origin !== undefined && { remote: remote(origin), flow_id: origin.flowId }),
      ...(event.extra !== undefined && { extra: event.extra }),
      org: event.organizationId,
    },
  };
}

export function eventText(event: ServiceEvent, nowMicros: number, origin?: EventOrigin): string {
  return storableText(sourceEvent(event, nowMicros, origin));
}

export function storableText(event: object): string {
  return JSON.stringify(event, (_, value: unknown) =>
    typeof value === 'string' ? value.replaceAll(unstorable, '\uFFFD') : value,
  );
}

/** No event may contain NUL or lone surrogates; a query or a provider can. */
const unstorable = /[\p{Cs}\0]/gu;

/** Without the zone of an IPv6 address, which events refuse. */
function remote({ ip, port }: EventOrigin): object {
  const address = ip.replace(/%.*$/, '');
  return { ip: address, ...(port !== '0' && { port: Number(port) }) };
}

export function sourceEventOfChange(change: Change, operator: string, nowMicros: number): object {
  return sourceEvent(eventOfChange(change, { name: operator, type: 'App/System' }), nowMicros);
}
