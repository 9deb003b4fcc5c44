/** The parts of `/openapi.json` that this page reads, with references resolved. */
export interface Schema {
  /** The name of a referenced schema. */
  readonly name?: string;
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

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'header' | 'path';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
  readonly example?: unknown;
}

interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface Body {
  readonly description?: string;
  readonly content?: Readonly<Record<string, Media>>;
}

interface Operation {
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

export interface OperationProps {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
  readonly apiKey: string;
}

type Plain = Record<string, unknown>;
const isPlain = (thing: unknown): thing is Plain => typeof thing === 'object' && thing !== null;

/** Replaces each reference by the schema it names. */
export function resolve(document: Document): Document {
  const seen = new Set<unknown>();
  const visit = (thing: Plain) => {
    if (seen.has(thing)) return;
    seen.add(thing);
    for (const [key, value] of Object.entries(thing)) {
      if (!isPlain(value)) continue;
      const { $ref, ...beside } = value;
      if (typeof $ref !== 'string') {
        visit(value);
        continue;
      }
      const steps = $ref.split('/').slice(1);
      const found = steps.reduce((inner, step) => inner[step] as Plain, document as unknown as Plain);
      if (steps.includes('schemas')) found['name'] = steps.at(-1);
      visit(found);
      thing[key] = Object.keys(beside).length === 0 ? found : { ...found, ...beside };
    }
  };
  visit(document as unknown as Plain);
  return document;
}

/** An example of a body, to edit. */
export function exampleOf(media: Media | undefined): string {
  const [first] = Object.values(media?.examples ?? {});
  return asText(first === undefined ? media?.example : first.value, 2);
}

/** A string as it is, other values as JSON, undefined as an empty text. */
export function asText(value: unknown, indent?: number): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value, null, indent);
}

/** A schema in a few words: `string | null`, `array of AuditEvent`. */
export function typeOf(schema: Schema): string {
  if (schema.name !== undefined) return schema.name;
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) return choices.map(typeOf).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  if (schema.items !== undefined) return `array of ${typeOf(schema.items)}`;
  return [schema.type ?? 'any'].flat().join(' | ');
}
