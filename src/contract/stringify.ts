import { createRequire } from 'node:module';
import type { Schema } from 'fast-json-stringify';
import { allSchemas, type Answer, pointerTo, type SchemaName } from './document.ts';

const require = createRequire(import.meta.url);
const compiled = new Map<SchemaName, (value: unknown) => string>();

/**
 * A value of a schema in the OpenAPI document as JSON: the members that the schema names, in its order, and no others;
 * without those that are undefined. Throws where a required member is missing. The first value of a schema compiles it,
 * and the first of all loads the compiler: neither the start of the service nor a command that prints no JSON waits.
 */
export function stringify<Name extends SchemaName>(schema: Name, value: Answer<Name>): string {
  let write = compiled.get(schema);
  if (write === undefined) {
    write = compile(schema);
    compiled.set(schema, write);
  }
  return write(value);
}

function compile(schema: SchemaName): (value: unknown) => string {
  const build = require('fast-json-stringify') as typeof import('fast-json-stringify').default;
  return build({ $ref: pointerTo(schema) }, { schema: { openapi: allSchemas() as Schema } });
}
