import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { limits } from './limits.ts';
import { Problem } from '../base/problem.ts';
import type { RequestContext } from './request-context.ts';

const errorsReportedMax = 5;
const memberCharactersShownMax = 100;

const ajv = new Ajv2020({ allErrors: true });
const compiled = new WeakMap<object, ValidateFunction>();

/** The check of a schema, made once; schemas are constants of their endpoints. */
function checkOf<T>(schema: object): ValidateFunction<T> {
  const known = compiled.get(schema);
  if (known !== undefined) return known as ValidateFunction<T>;
  const made = ajv.compile<T>(schema);
  compiled.set(schema, made);
  return made;
}

/**
 * The JSON object in the body of a request, at most limits.jsonBodyBytesMax, valid under a schema, whose type `T` is
 * (contract: Errors). Rejects with Problem `unsupported_media`, `too_large` or `malformed`; the last names JSON
 * pointers and rules, and never repeats a value: it may be a password.
 */
export async function readJson<T>(context: RequestContext, schema: object): Promise<T> {
  requireJson(context);
  const { bytes, release } = await context.body();
  try {
    if (bytes.length > limits.jsonBodyBytesMax) {
      throw new Problem('too_large', `The request body is larger than ${limits.jsonBodyBytesMax} bytes.`);
    }
    const value = parse(bytes);
    const isValid = checkOf<T>(schema);
    if (isValid(value)) return value;
    throw new Problem('malformed', describe(isValid.errors ?? []));
  } finally {
    release();
  }
}

function requireJson(context: RequestContext): void {
  const type = (context.header('content-type') ?? '').toLowerCase().replaceAll(' ', '');
  if (!/^application\/json(;charset="?(utf-?8|us-ascii)"?)?$/.test(type)) {
    throw new Problem('unsupported_media', 'Content-Type must be application/json, in UTF-8.', {
      headers: { Accept: 'application/json' },
    });
  }
  const encoding = (context.header('content-encoding') ?? 'identity').trim().toLowerCase();
  if (encoding !== 'identity') {
    throw new Problem('unsupported_media', 'The body must be sent without a Content-Encoding here.', {
      headers: { 'Accept-Encoding': 'identity' },
    });
  }
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    // The parser's own words quote the body.
    if (error instanceof SyntaxError) throw new Problem('malformed', 'The request body is not JSON.');
    if (error instanceof TypeError) throw new Problem('malformed', 'The request body is not UTF-8.');
    throw error;
  }
}

function describe(errors: readonly ErrorObject[]): string {
  return errors.slice(0, errorsReportedMax).map(describeError).join('; ');
}

function describeError({ keyword, instancePath, params, message }: ErrorObject): string {
  const at = (member: unknown): string =>
    `${instancePath}/${String(member).slice(0, memberCharactersShownMax)}`;
  switch (keyword) {
    case 'required':
      return `${at(params['missingProperty'])}: is required`;
    case 'additionalProperties':
      return `${at(params['additionalProperty'])}: is not a member known here`;
    case 'enum':
      return `${instancePath}: must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`;
    default:
      return `${instancePath === '' ? 'the body' : instancePath}: ${message ?? `breaks the rule "${keyword}"`}`;
  }
}
