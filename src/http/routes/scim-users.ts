import type { Problem } from '../../base/errors/problem.ts';
import { keyActor } from '../../control/change-events.ts';
import { foldEmail } from '../../control/email-address.ts';
import {
  changeProvisioned,
  provisionedUser,
  provisionedUsers,
  provisionUser,
  type UserLookup,
} from '../../control/provisioning.ts';
import { noPassword } from '../../control/passwords.ts';
import type { EndpointDeps } from '../deps.ts';
import type { ReadHandler } from '../endpoint.ts';
import { readJson } from '../json-body.ts';
import { limits } from '../limits.ts';
import { preparedChange, recordedChange } from '../recorded-change.ts';
import { locationOf, scimReply, scimUser } from '../scim/answers.ts';
import { changeOfPatch, changeOfUserBody, type ScimChange, scimFault } from '../scim/attributes.ts';

const scimPageDefault = 100;

const bodyTypes = ['scim+json', 'json'];

export function scimListHandler({ directory }: EndpointDeps): ReadHandler {
  return (context, { organization }) => {
    const lookup = readFilter(context.first('filter'));
    const startIndex = Math.max(1, wholeNumber(context.first('startIndex')) ?? 1);
    const count = Math.min(wholeNumber(context.first('count')) ?? scimPageDefault, limits.scimPageMax);
    const found = provisionedUsers(directory, organization.id, lookup);
    const page = found.slice(startIndex - 1, startIndex - 1 + count);
    return scimReply(200, 'ScimUsers', {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
      totalResults: found.length,
      startIndex,
      itemsPerPage: page.length,
      Resources: page.map((one) => scimUser(context, one)),
    });
  };
}

/** A negative number counts as zero (RFC 7644, 3.4.2.4). */
function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined || !/^-?\d{1,9}$/.test(text)) return undefined;
  return Math.max(0, Number(text));
}

export function scimCreateHandler(deps: EndpointDeps): ReadHandler {
  return async (context, { key, organization }) => {
    const body = await readJson(context, 'ScimNewUser', bodyTypes);
    const { userName = '', name = userName, role = 'member', ...more } = changeOfUserBody(body);
    const input = { email: userName, name, role };
    const make = provisionUser(organization.id, { ...input, passwordHash: noPassword }, more);
    const made = await recordedChange(deps, context, { actor: keyActor(key) }, make);
    const headers = { Location: locationOf(context, `Users/${made.now.user.id}`) };
    return scimReply(201, 'ScimUser', scimUser(context, made.now), headers);
  };
}

export function scimReadHandler({ directory }: EndpointDeps): ReadHandler {
  return (context, { organization }) => {
    const found = provisionedUser(directory, organization.id, context.parameter('id'));
    return scimReply(200, 'ScimUser', scimUser(context, found));
  };
}

export function scimReplaceHandler(deps: EndpointDeps): ReadHandler {
  return changing(deps, async (context) =>
    changeOfUserBody(await readJson(context, 'ScimNewUser', bodyTypes)),
  );
}

export function scimPatchHandler(deps: EndpointDeps): ReadHandler {
  return changing(deps, async (context) => {
    const { Operations: operations } = await readJson(context, 'ScimPatch', bodyTypes);
    return changeOfPatch(operations);
  });
}

/** Ends access; events still name the user. */
export function scimDeleteHandler(deps: EndpointDeps): ReadHandler {
  const change = changing(deps, async () => ({ active: false }));
  return async (context, caller) => {
    await change(context, caller);
    return { status: 204 };
  };
}

function changing(
  deps: EndpointDeps,
  read: (context: Parameters<ReadHandler>[0]) => Promise<ScimChange>,
): ReadHandler {
  return async (context, { key, organization }) => {
    const id = context.parameter('id');
    const { userName, ...change } = await read(context);
    const { now } = await preparedChange(deps, context, { actor: keyActor(key) }, async () => {
      if (userName !== undefined) {
        const { user } = provisionedUser(deps.directory, organization.id, id);
        if (foldEmail(userName) !== user.emailLower) throw fixedName();
      }
      return changeProvisioned(organization.id, id, change);
    });
    return scimReply(200, 'ScimUser', scimUser(context, now));
  };
}

function fixedName(): Problem {
  return scimFault('mutability', 'userName: stays as it is; make another user for another address');
}

const filterCharactersMax = 1_000;
const pattern =
  /^\s*(username|externalid|id|emails(?:\[type eq "work"\])?(?:\.value)?)\s+eq\s+("(?:[^"\\]|\\.)*")\s*$/i;

/**
 * Entra ID and Okta send `userName eq "…"`, or `externalId`, `id`, `emails`. Undefined: all users. Throws Problem `malformed`.
 */
function readFilter(text: string | undefined): UserLookup | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const [, name = '', quoted = ''] = pattern.exec(text.slice(0, filterCharactersMax + 1)) ?? [];
  const value = unquote(quoted);
  if (text.length > filterCharactersMax || value === undefined)
    throw scimFault(
      'invalidFilter',
      'filter: must be userName, externalId, id or emails, then eq and a text in quotes',
    );
  const known = { externalid: 'externalId', id: 'id' } as const;
  const lower = name.toLowerCase();
  return { by: lower === 'externalid' || lower === 'id' ? known[lower] : 'email', value };
}

function unquote(quoted: string): string | undefined {
  try {
    const value: unknown = JSON.parse(quoted);
    return typeof value === 'string' ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
