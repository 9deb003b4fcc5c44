import { createRequire } from 'node:module';
import type { Schema } from 'fast-json-stringify';
import { allSchemas, type Answer, commandDocument, pointerTo } from './document.ts';
import type { CommandSchemaName, SchemaName } from './document.ts';

const require = createRequire(import.meta.url);
type Write = (value: unknown) => string;
const compiled = new Map<SchemaName, Write>();
const compiledCommands = new Map<CommandSchemaName, Write>();

/**
 * The named members in order, no others, none undefined. Throws without a required member. The first value compiles its schema.
 */
export function stringify<Name extends SchemaName>(schema: Name, value: Answer<Name>): string {
  return (compiled.get(schema) ?? compile(schema))(value);
}

/** Called while the service waits for its engine. */
export function prepareAnswers(): void {
  compile('IngestAnswer');
  compile('Problem');
}

export function stringifyOutput<Name extends CommandSchemaName>(schema: Name, value: Answer<Name>): string {
  const known = compiledCommands.get(schema);
  const write = known ?? build(`commands#/$defs/${schema}`, { commands: commandDocument() as Schema });
  compiledCommands.set(schema, write);
  return write(value);
}

function compile(schema: SchemaName): Write {
  const write = build(pointerTo(schema), { openapi: allSchemas() as Schema });
  compiled.set(schema, write);
  return write;
}

function build($ref: string, schema: Record<string, Schema>): Write {
  const compiler = require('fast-json-stringify') as typeof import('fast-json-stringify').default;
  return compiler({ $ref }, { schema });
}
