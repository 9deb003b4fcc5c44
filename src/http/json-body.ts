import { hash } from 'node:crypto';
import { limits } from './limits.ts';
import { Problem } from '../base/errors/problem.ts';
import type { SchemaName, Schemas } from '../contract/document.ts';
import { validate } from '../contract/validate.ts';
import type { RequestContext } from './request-context.ts';

/**
 * `subtypes`: accepted types of application/. Rejects with Problem `unsupported_media`, `too_large` or `malformed` (contract:
 * Errors).
 */
export async function readJson<Name extends SchemaName>(
  context: RequestContext,
  schema: Name,
  subtypes: readonly string[] = ['json'],
): Promise<Schemas[Name]> {
  requireJson(context, subtypes);
  const { bytes, release } = await context.body();
  try {
    if (bytes.length > limits.jsonBodyBytesMax) {
      throw new Problem('too_large', `The request body is larger than ${limits.jsonBodyBytesMax} bytes.`);
    }
    context.bodyDigest = hash('sha256', bytes);
    return validate(schema, parse(bytes));
  } finally {
    release();
  }
}

function requireJson(context: RequestContext, subtypes: readonly string[]): void {
  const type = (context.header('content-type') ?? '').toLowerCase().replaceAll(' ', '');
  const [, subtype = ''] = /^application\/([^;]+)(;charset="?(utf-?8|us-ascii)"?)?$/.exec(type) ?? [];
  if (!subtypes.includes(subtype)) {
    const types = subtypes.map((one) => `application/${one}`);
    throw new Problem('unsupported_media', `Content-Type must be ${types.join(' or ')}, in UTF-8.`, {
      headers: { Accept: types.join(', ') },
    });
  }
  const encoding = (context.header('content-encoding') ?? 'identity').trim().toLowerCase();
  if (encoding !== 'identity') {
    throw new Problem('unsupported_media', 'This endpoint accepts no Content-Encoding.', {
      headers: { 'Accept-Encoding': 'identity' },
    });
  }
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    // The parser's message quotes the body.
    if (error instanceof SyntaxError) throw new Problem('malformed', 'The request body is not JSON.');
    if (error instanceof TypeError) throw new Problem('malformed', 'The request body is not UTF-8.');
    throw error;
  }
}
