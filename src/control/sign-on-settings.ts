import { isIssuer, issuerWords } from '../base/network/issuer.ts';
import { Problem } from '../base/errors/problem.ts';
import { changeOfSignOn } from './change-events.ts';
import { type Decide, type Decision, unchanged } from './decision.ts';
import { findOrganization } from './organizations.ts';
import type { Organization, SignOnSettings } from './records.ts';
import type { SealedSecrets } from './sealed-secret.ts';
import { parseRole } from './users.ts';

export type { SignOnSettings } from './records.ts';

type ProviderChoice = SignOnSettings['provider'];

const providerChoices: readonly ProviderChoice[] = ['own', 'service', 'off'];

/** Texts of `sign-on set`; absent ones stay. */
export interface SignOnInput {
  readonly provider?: string | undefined;
  readonly issuer?: string | undefined;
  readonly clientId?: string | undefined;
  /** Empty: a client without a secret. */
  readonly clientSecret?: string | undefined;
  readonly scopes?: string | undefined;
  readonly trustEmail?: string | undefined;
  readonly linkEmail?: string | undefined;
  readonly create?: string | undefined;
  readonly roleClaim?: string | undefined;
  readonly adminValues?: string | undefined;
  readonly auditorValues?: string | undefined;
  readonly memberValues?: string | undefined;
  readonly defaultRole?: string | undefined;
  readonly relink?: boolean | undefined;
}

/** Binds a sealed client secret to its issuer: a changed row cannot send it elsewhere. */
export function secretPurpose({ id, issuer, clientId }: SignOnSettings): string {
  return `client secret\n${id}\n${issuer}\n${clientId}`;
}

/** Throws Problem `malformed`. */
function parseIssuer(text: string): string {
  if (isIssuer(text)) return text;
  throw new Problem('malformed', `issuer must be ${issuerWords}`);
}

const lineText = /^[^\p{Cc}\p{Cs}]*$/u;

function parseText(name: string, text: string, max: number): string {
  if (text.length >= 1 && text.length <= max && lineText.test(text)) return text;
  throw new Problem('malformed', `${name} must have 1 to ${max} characters, none of them control characters`);
}

function parseSwitch(name: string, text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  throw new Problem('malformed', `${name} must be on or off`);
}

function parseScopes(text: string): string {
  const scopes = [...new Set(text.split(/[ ,]+/).filter((scope) => scope !== ''))];
  const isGood = scopes.length <= 20 && scopes.every((scope) => /^[!#-[\]-~]{1,100}$/.test(scope));
  if (isGood && scopes.includes('openid')) return scopes.join(' ');
  throw new Problem('malformed', 'scopes must be at most 20 names separated by spaces, openid among them');
}

const valuesMax = 100;

/** Separated by commas; `none` for none. */
function parseValues(name: string, text: string): string[] {
  if (text === 'none') return [];
  const values = [...new Set(text.split(',').map((value) => value.trim()))];
  if (values.length <= valuesMax && values.every((value) => /^[^\p{Cc}\p{Cs}]{1,200}$/u.test(value)))
    return values;
  throw new Problem('malformed', `${name} must be up to ${valuesMax} values separated by commas, or none`);
}

function parseProvider(text: string): ProviderChoice {
  const choice = providerChoices.find((known) => known === text);
  if (choice === undefined)
    throw new Problem('malformed', `provider must be one of ${providerChoices.join(', ')}`);
  return choice;
}

const given = <T, V>(text: T | undefined, name: keyof SignOnSettings, read: (text: T) => V) =>
  text === undefined ? {} : { [name]: read(text) };

/** Another issuer or client needs its secret given again. */
function connectionOf(before: SignOnSettings, input: SignOnInput): Partial<SignOnSettings> {
  const { issuer, clientId, clientSecret } = input;
  const named = [issuer, clientId, clientSecret].some((text) => text !== undefined);
  const chosen = input.provider === undefined ? undefined : parseProvider(input.provider);
  const provider = chosen ?? (named ? 'own' : before.provider);
  if (named && provider !== 'own')
    throw new Problem('malformed', 'issuer, client id and client secret are for the provider own alone');
  const now = {
    provider,
    ...given(issuer, 'issuer', parseIssuer),
    ...given(clientId, 'clientId', (text) => parseText('client id', text, 200)),
  };
  const { issuer: newIssuer, clientId: newClient } = { ...before, ...now };
  if (provider === 'own' && (newIssuer === '' || newClient === ''))
    throw new Problem('malformed', 'issuer and client id are both needed');
  const isOther = newIssuer !== before.issuer || newClient !== before.clientId;
  if (isOther && before.clientSecret !== '' && clientSecret === undefined)
    throw new Problem('malformed', 'the client secret is needed again for another issuer or client id');
  return now;
}

function rulesOf(input: SignOnInput): Partial<SignOnSettings> {
  return {
    ...given(input.scopes, 'scopes', parseScopes),
    ...given(input.trustEmail, 'trustEmail', (text) => parseSwitch('trust-email', text)),
    ...given(input.linkEmail, 'linkEmail', (text) => parseSwitch('link-email', text)),
    ...given(input.create, 'createUsers', (text) => parseSwitch('create', text)),
    ...given(input.roleClaim, 'roleClaim', (text) =>
      text === 'none' ? '' : parseText('role claim', text, 200),
    ),
    ...given(input.adminValues, 'adminValues', (text) => parseValues('admin values', text)),
    ...given(input.auditorValues, 'auditorValues', (text) => parseValues('auditor values', text)),
    ...given(input.memberValues, 'memberValues', (text) => parseValues('member values', text)),
    ...given(input.defaultRole, 'defaultRole', (text) => (text === 'none' ? undefined : parseRole(text))),
  };
}

/** The same object if nothing changed. */
export interface SignOnChange {
  readonly organization: Organization;
  readonly before: SignOnSettings;
  readonly now: SignOnSettings;
}

/**
 * Another connection has to prove itself again. Throws Problem `malformed`, `not_found`, or `conflict` if passwords are off and
 * sign-in would be impossible.
 */
export function updateSignOn(
  reference: string,
  input: SignOnInput,
  secrets: SealedSecrets,
): Decide<SignOnChange> {
  return (state, { micros }) => {
    const organization = findOrganization(state, reference);
    const before = state.signOnOf(organization.id);
    const asked = { ...connectionOf(before, input), ...rulesOf(input) };
    const merged = { ...before, ...asked };
    if (merged.provider === 'off' && !merged.passwords)
      throw new Problem(
        'conflict',
        'passwords are off, so nobody could sign in: org set --passwords on first',
      );
    const sealed = sealedSecret(before, merged, input, secrets);
    const names = ['provider', 'issuer', 'clientId'] as const;
    const isOther = input.relink === true || names.some((name) => merged[name] !== before[name]);
    const { provider, ...others } = asked;
    const change: Partial<SignOnSettings> = {
      ...others,
      ...(provider !== before.provider && { provider: merged.provider }),
      ...(sealed !== undefined && { clientSecret: sealed }),
      ...(isOther && { connectedMicros: micros, provenMicros: undefined }),
    };
    const isSame = Object.entries(change).every(
      ([name, value]) => JSON.stringify(value) === JSON.stringify(before[name as keyof SignOnSettings]),
    );
    if (isSame) return unchanged({ organization, before, now: before });
    return changedSignOn(organization, before, { ...before, ...change });
  };
}

function changedSignOn(
  organization: Organization,
  before: SignOnSettings,
  now: SignOnSettings,
): Decision<SignOnChange> {
  const change = changeOfSignOn(organization, before, now);
  return { parts: [['sign_on', now]], changes: [change], result: { organization, before, now } };
}

/** An administrator has signed in by this connection. */
export function signOnProven({ id, connectedMicros }: SignOnSettings): Decide<undefined> {
  return (state, { micros }) => {
    const current = state.signOnOf(id);
    const isProven = current.provenMicros !== undefined || current.connectedMicros !== connectedMicros;
    if (isProven || state.organizationById(id) === undefined) return unchanged(undefined);
    return { parts: [['sign_on', { ...current, provenMicros: micros }]], changes: [], result: undefined };
  };
}

/** Undefined if none is given. A repeated one keeps its sealed form. */
function sealedSecret(
  before: SignOnSettings,
  now: SignOnSettings,
  { clientSecret }: SignOnInput,
  secrets: SealedSecrets,
): string | undefined {
  if (clientSecret === undefined || clientSecret === '') return clientSecret;
  const text = parseText('client secret', clientSecret, 2000);
  const purpose = secretPurpose(now);
  return secrets.open(before.clientSecret, purpose) === text
    ? before.clientSecret
    : secrets.seal(text, purpose);
}

/**
 * Off needs `force`, or an administrator who has signed in by the current connection.
 * Throws Problem `malformed`, `not_found`, `conflict`.
 */
export function setPasswords(
  reference: string,
  { passwords, force = false }: { readonly passwords: string; readonly force?: boolean | undefined },
): Decide<SignOnChange> {
  const isOn = parseSwitch('passwords', passwords);
  return (state) => {
    const organization = findOrganization(state, reference);
    const before = state.signOnOf(organization.id);
    if (isOn === before.passwords) return unchanged({ organization, before, now: before });
    if (!isOn && !force && (before.provider === 'off' || before.provenMicros === undefined)) {
      throw new Problem(
        'conflict',
        'no administrator has signed in by the provider yet, so passwords off could lock everybody out; let one do so first, or give --force',
      );
    }
    return changedSignOn(organization, before, { ...before, passwords: isOn });
  };
}
