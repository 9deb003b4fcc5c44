import { createRequire } from 'node:module';
import type { Schema } from 'fast-json-stringify';
import { allSchemas, pointerTo, type SchemaName, type Schemas } from './document.ts';

const require = createRequire(import.meta.url);

type Stringify<Name extends SchemaName> = (value: Schemas[Name]) => string;

/**
 * The JSON writer of a schema in the OpenAPI document. It writes the members that the schema names, in the schema's
 * order, and no others; it leaves out those that are undefined, and throws where a required one is missing. The first
 * call compiles the schema, and loads the compiler: neither the start of the service nor a command that prints no JSON
 * waits for that.
 */
export function stringifierOf<Name extends SchemaName>(schema: Name): Stringify<Name> {
  let stringify: Stringify<Name> | undefined;
  return (value) => {
    stringify ??= compile(schema);
    return stringify(value);
  };
}

function compile<Name extends SchemaName>(schema: Name): Stringify<Name> {
  const build = require('fast-json-stringify') as typeof import('fast-json-stringify').default;
  return build({ $ref: pointerTo(schema) }, { schema: { openapi: allSchemas() as Schema } });
}
