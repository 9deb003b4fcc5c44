import { problemTable } from '../../base/errors/problem.ts';
import { formatMicros } from '../../base/time/timestamp.ts';
import type { Answer, SchemaName } from '../../contract/document.ts';
import { stringify } from '../../contract/stringify.ts';
import type { ProvisionedUser } from '../../control/provisioning.ts';
import type { ProblemForm } from '../request.ts';
import type { RequestContext } from '../request-context.ts';
import { type FixedReply, jsonLine, jsonReply, type ReplyHeaders } from '../response.ts';

const scimType = 'application/scim+json';

export function scimReply<Name extends SchemaName>(
  status: number,
  schema: Name,
  value: Answer<Name>,
  headers: ReplyHeaders = {},
): FixedReply {
  return jsonReply(status, schema, value, { ...headers, 'Content-Type': scimType });
}

/** RFC 7644, 3.12. */
export const scimError: ProblemForm = ({ code, message, options }, { method, requestId }) => {
  const { status } = problemTable[code];
  const named = options.members?.['scimType'];
  // A new user can only conflict with an existing one.
  const other = code === 'conflict' && method === 'POST' ? 'uniqueness' : undefined;
  const error = {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
    status: String(status),
    scimType: typeof named === 'string' ? named : other,
    detail: `${message} (request ${requestId})`,
  };
  return { status, type: scimType, body: jsonLine(stringify('ScimError', error)) };
};

/** By the host name that the client uses. */
export function locationOf({ head }: RequestContext, path: string): string {
  const host = head.headers.get('host') ?? '';
  const origin = /^[A-Za-z0-9.:[\]_-]+$/.test(host) ? `${head.secure ? 'https' : 'http'}://${host}` : '';
  return `${origin}/scim/v2/${path}`;
}

export function scimUser(context: RequestContext, { user, externalId }: ProvisionedUser) {
  const { id, email, name, role, createdMicros, disabledMicros, changedMicros } = user;
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    id,
    externalId: externalId === '' ? undefined : externalId,
    userName: email,
    name: { formatted: name },
    displayName: name,
    active: disabledMicros === undefined,
    emails: [{ value: email, type: 'work', primary: true }],
    roles: [{ value: role, primary: true }],
    meta: {
      resourceType: 'User',
      created: formatMicros(createdMicros),
      lastModified: formatMicros(changedMicros),
      location: locationOf(context, `Users/${id}`),
    },
  };
}
