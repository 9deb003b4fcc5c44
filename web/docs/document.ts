/** What this page reads of `/openapi.json`; what has a reference stands elsewhere in the document. */
interface Reference {
  readonly $ref?: string;
}

export interface Schema extends Reference {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
}

export interface Parameter extends Reference {
  readonly name: string;
  readonly in: 'query' | 'header' | 'path';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
  readonly example?: unknown;
}

interface Example extends Reference {
  readonly value: unknown;
}

interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, Example>>;
}

export interface Body extends Reference {
  readonly description?: string;
  readonly content?: Readonly<Record<string, Media>>;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Body>>;
}

export interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** What is shown of an operation, and the key to ask with. */
export interface OperationProps {
  readonly document: Document;
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
  readonly apiKey: string;
}

/** What a reference within the document leads to, or the thing itself. */
export function resolve<T extends Reference>(document: Document, thing: T): T {
  if (thing.$ref === undefined) return thing;
  let found: unknown = document;
  for (const step of thing.$ref.split('/').slice(1)) found = (found as Record<string, unknown>)[step];
  return resolve(document, found as T);
}

/** An example of a body, as text to begin with. */
export function exampleOf(document: Document, media: Media | undefined): string {
  const [first] = Object.values(media?.examples ?? {});
  const value = first === undefined ? media?.example : resolve(document, first).value;
  return asText(value, 2);
}

/** A text as it is, anything else as JSON; nothing where there is nothing. */
export function asText(value: unknown, indent?: number): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value, null, indent);
}

/** A schema in a few words: `string | null`, `array of AuditEvent`. */
export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? '';
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) return choices.map(typeOf).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  if (schema.items !== undefined) return `array of ${typeOf(schema.items)}`;
  return [schema.type ?? 'any'].flat().join(' | ');
}
