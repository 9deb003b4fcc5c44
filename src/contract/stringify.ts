import { createRequire } from 'node:module';
import type { Schema } from 'fast-json-stringify';
import { allSchemas, type Answer, pointerTo, type SchemaName } from './document.ts';

const require = createRequire(import.meta.url);
const compiled = new Map<SchemaName, (value: unknown) => string>();

/**
 * A value of a schema in the OpenAPI document as JSON: the members that the schema names, in its order, and no others;
 * without those that are undefined. Throws where a required member is missing. The first value of a schema compiles it,
 * and the first of all loads the compiler: a command that prints no JSON does not wait for that.
 */
export function stringify<Name extends SchemaName>(schema: Name, value: Answer<Name>): string {
  return (compiled.get(schema) ?? compile(schema))(value);
}

/** Compiles what most requests need. The service does it while it waits for its engine; else the first request would wait. */
export function prepareAnswers(): void {
  compile('IngestAnswer');
  compile('Problem');
}

function compile(schema: SchemaName): (value: unknown) => string {
  const build = require('fast-json-stringify') as typeof import('fast-json-stringify').default;
  const write = build({ $ref: pointerTo(schema) }, { schema: { openapi: allSchemas() as Schema } });
  compiled.set(schema, write);
  return write;
}
