import { Problem } from '../../base/errors/problem.ts';
import type { Answer } from '../../contract/document.ts';
import type { ReadHandler } from '../endpoint.ts';
import { limits } from '../limits.ts';
import type { RequestContext } from '../request-context.ts';
import { locationOf, scimReply } from '../scim/answers.ts';

const listSchemas = ['urn:ietf:params:scim:api:messages:2.0:ListResponse'];
const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';

export const scimConfigHandler: ReadHandler = (context) =>
  scimReply(200, 'ScimServiceProviderConfig', {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: limits.scimPageMax },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: false },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'API key',
        description: 'An API key with the scope scim, as Authorization: Bearer.',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: locationOf(context, 'ServiceProviderConfig') },
  });

const typeOf = (context: RequestContext) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
  id: 'User',
  name: 'User',
  endpoint: '/Users',
  schema: userSchema,
  meta: { resourceType: 'ResourceType', location: locationOf(context, 'ResourceTypes/User') },
});

export const scimTypesHandler: ReadHandler = (context) =>
  scimReply(200, 'ScimResourceTypes', { ...listOfOne, Resources: [typeOf(context)] });

export const scimTypeHandler: ReadHandler = (context) => {
  if (context.parameter('name') !== 'User') throw new Problem('not_found', 'Unknown resource type.');
  return scimReply(200, 'ScimResourceType', typeOf(context));
};

const listOfOne = { schemas: listSchemas, totalResults: 1, startIndex: 1, itemsPerPage: 1 };

interface AttributeOptions {
  readonly type?: 'string' | 'boolean' | 'complex';
  readonly mutability?: 'readWrite' | 'immutable' | 'readOnly';
  readonly required?: boolean;
  readonly multiValued?: boolean;
  readonly unique?: boolean;
  readonly values?: string[];
  readonly parts?: Answer<'ScimSubAttribute'>[];
}

function attribute(name: string, options: AttributeOptions = {}) {
  const { type = 'string', mutability = 'readWrite', required = false, multiValued = false } = options;
  return {
    name,
    type,
    multiValued,
    required,
    caseExact: false,
    mutability,
    returned: 'default',
    uniqueness: options.unique === true ? 'server' : 'none',
    ...(options.values && { canonicalValues: options.values }),
    ...(options.parts && { subAttributes: options.parts }),
  };
}

const complex = { type: 'complex', multiValued: true } as const;
const primary = attribute('primary', { type: 'boolean' });
const roleNames = ['admin', 'auditor', 'member'];
const attributes = [
  attribute('userName', { required: true, mutability: 'immutable', unique: true }),
  attribute('displayName'),
  attribute('name', {
    type: 'complex',
    parts: ['formatted', 'givenName', 'familyName'].map((name) => attribute(name)),
  }),
  attribute('active', { type: 'boolean' }),
  attribute('emails', {
    ...complex,
    mutability: 'readOnly',
    parts: [attribute('value'), attribute('type'), primary],
  }),
  attribute('roles', { ...complex, parts: [attribute('value', { values: roleNames }), primary] }),
];

const schemaOf = (context: RequestContext) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
  id: userSchema,
  name: 'User',
  description: 'A person who signs in; roles are admin, auditor or member.',
  attributes,
  meta: { resourceType: 'Schema', location: locationOf(context, `Schemas/${userSchema}`) },
});

export const scimSchemasHandler: ReadHandler = (context) =>
  scimReply(200, 'ScimSchemas', { ...listOfOne, Resources: [schemaOf(context)] });

export const scimSchemaHandler: ReadHandler = (context) => {
  if (context.parameter('id').toLowerCase() !== userSchema.toLowerCase())
    throw new Problem('not_found', 'Unknown schema.');
  return scimReply(200, 'ScimSchema', schemaOf(context));
};
