import { readFileSync } from 'node:fs';
import type { Schemas } from '../../schema/openapi.d.ts';

/** Name of a schema in the document's `components`. */
export type SchemaName = keyof Schemas;
export type { Schemas };

/** A value that is written: its optional members may be undefined, and are then left out. */
export type Answer<Name extends SchemaName> = Writable<Schemas[Name]>;
type Writable<T> = {
  [K in keyof T]: Writable<T[K]> | (object extends Pick<T, K> ? undefined : never);
};

interface OpenApiDocument {
  readonly components: { readonly schemas: Readonly<Record<SchemaName, object>> };
}

/** `npm run openapi` makes it of schema/openapi.yaml; the same path holds from `src` and from `dist`. */
const file = new URL('../../schema/openapi.json', import.meta.url);
let document: OpenApiDocument | undefined;

/** The OpenAPI document. It is read on first use: most commands need none of it. */
export function openApiDocument(): OpenApiDocument {
  document ??= JSON.parse(readFileSync(file, 'utf8')) as OpenApiDocument;
  return document;
}

/** JSON Schema of events of OCSF 1.1.0, as text; `npm run ocsf` makes it. */
export function ocsfEventSchema(): string {
  return readFileSync(new URL('../../schema/ocsf-event.schema.json', import.meta.url), 'utf8');
}

/** All schemas, for compilers: what their `$ref`s point into. */
export function allSchemas(): object {
  return { components: { schemas: openApiDocument().components.schemas } };
}

/** Pointer to a schema for a compiler that knows `allSchemas` by the name `openapi`. */
export function pointerTo(schema: SchemaName): string {
  return `openapi#/components/schemas/${schema}`;
}
