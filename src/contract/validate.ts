import { createRequire } from 'node:module';
import type { Ajv2020, ErrorObject } from 'ajv/dist/2020.js';
import { Problem } from '../base/errors/problem.ts';
import { allSchemas, pointerTo, type SchemaName, type Schemas } from './document.ts';

const errorsReportedMax = 5;
const memberCharactersShownMax = 100;
const require = createRequire(import.meta.url);

let ajv: Ajv2020 | undefined;

/** Made for the first body, so the start does not wait for it. */
function compiler(): Ajv2020 {
  if (ajv !== undefined) return ajv;
  const { Ajv2020: Compiler } = require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js');
  ajv = new Compiler({ allErrors: true, validateSchema: false });
  ajv.addKeyword('components');
  return ajv.addSchema(allSchemas(), 'openapi');
}

/**
 * Returns a valid value. Throws Problem `malformed` with JSON pointers and rules, never a value: it may be a
 * password (contract: Errors).
 */
export function validate<Name extends SchemaName>(schema: Name, value: unknown): Schemas[Name] {
  const isValid = compiler().getSchema(pointerTo(schema));
  if (isValid === undefined) throw new Error(`the document has no schema ${schema}`);
  if (isValid(value) === true) return value as Schemas[Name];
  const errors = (isValid.errors ?? []).slice(0, errorsReportedMax);
  throw new Problem('malformed', errors.map(describe).join('; '));
}

function describe({ keyword, instancePath, params, message }: ErrorObject): string {
  const at = (member: unknown): string =>
    `${instancePath}/${String(member).slice(0, memberCharactersShownMax)}`;
  switch (keyword) {
    case 'required':
      return `${at(params['missingProperty'])}: is required`;
    case 'additionalProperties':
      return `${at(params['additionalProperty'])}: is not a member known here`;
    case 'enum':
      return `${instancePath}: must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`;
    case 'minLength':
      return `${instancePath}: must have at least ${String(params['limit'])} characters`;
    default:
      return `${instancePath === '' ? 'the body' : instancePath}: ${message ?? `breaks the rule "${keyword}"`}`;
  }
}
