import { readFileSync } from 'node:fs';
import type { CommandSchemas } from '../../schema/commands.d.ts';
import type { Schemas } from '../../schema/openapi.d.ts';

export type SchemaName = keyof Schemas;
export type CommandSchemaName = keyof CommandSchemas;
export type { CommandSchemas, Schemas };

/** Optional members may be undefined; they are left out. */
export type Answer<Name extends SchemaName | CommandSchemaName> = Writable<(Schemas & CommandSchemas)[Name]>;
type Writable<T> = { [K in keyof T]: Writable<T[K]> | (object extends Pick<T, K> ? undefined : never) };

interface OpenApiDocument {
  readonly components: { readonly schemas: Readonly<Record<SchemaName, object>> };
}

/** `npm run openapi` makes it; the path holds from `src` and `dist`. */
function readSchema(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../schema/${name}.json`, import.meta.url), 'utf8'));
}

let document: OpenApiDocument | undefined;

/** Read on first use: most commands need none of it. */
export function openApiDocument(): OpenApiDocument {
  document ??= readSchema('openapi') as OpenApiDocument;
  return document;
}

export const commandDocument = (): object => readSchema('commands') as object;

export function ocsfEventSchema(): string {
  return readFileSync(new URL('../../schema/ocsf-event.schema.json', import.meta.url), 'utf8');
}

/** The target of all `$ref`s. */
export const allSchemas = (): object => ({ components: { schemas: openApiDocument().components.schemas } });

/** For a compiler that knows `allSchemas` by the name `openapi`. */
export const pointerTo = (schema: SchemaName): string => `openapi#/components/schemas/${schema}`;
