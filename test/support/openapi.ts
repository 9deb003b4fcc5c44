import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { HttpAnswer } from './http.ts';
import { projectRoot } from './project-root.ts';

export interface OpenApiResponse {
  readonly $ref?: string;
  readonly headers?: Readonly<
    Record<string, { readonly $ref?: string; readonly required?: boolean; readonly schema?: object }>
  >;
  readonly content?: Readonly<
    Record<string, { readonly schema?: object; readonly example?: unknown; readonly examples?: object }>
  >;
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly parameters?: readonly unknown[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: object; readonly examples?: object }>>;
  };
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The value at a JSON pointer such as `#/components/schemas/Problem`; undefined if missing. */
export function at(document: unknown, reference: string): unknown {
  let value: unknown = document;
  for (const part of reference.replace(/^#\/?/, '').split('/')) {
    if (part === '') continue;
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}

/** Compares answers with the document. */
interface Conformance {
  /** Fails unless status, media type, headers and body match the document. */
  check(method: string, path: string, answer: HttpAnswer): void;
  /** Errors of a value by the schema at a pointer; empty if valid. */
  errorsOf(pointer: string, value: unknown): string[];
}

function conformance(document: OpenApiDocument): Conformance {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema(document, 'openapi');
  // The introduction names the headers of every answer.
  const everywhere = [...document.info.description.matchAll(/`([A-Z][A-Za-z]*(?:-[A-Z][A-Za-z]*)*)`/g)].map(
    ([, name = '']) => name,
  );
  const follow = (value: { $ref?: string }): unknown =>
    value.$ref === undefined ? value : at(document, value.$ref);
  const errorsOf = (pointer: string, value: unknown): string[] => {
    const validate = ajv.getSchema(`openapi${pointer}`);
    assert.ok(validate, `no schema at ${pointer}`);
    if (validate(value) === true) return [];
    return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
  };
  const responseOf = (method: string, path: string, status: number): OpenApiResponse => {
    const responses = document.paths[path]?.[method.toLowerCase()]?.responses;
    const response = responses?.[String(status)] ?? responses?.['default'];
    assert.ok(response, `${method} ${path} has no response ${status}`);
    return follow(response) as OpenApiResponse;
  };
  /** Pointer of a response's schema, which may be inline. */
  const pointerOf = (method: string, path: string, status: number, type: string): string => {
    const escape = (text: string) => encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'));
    const responses = document.paths[path]?.[method.toLowerCase()]?.responses ?? {};
    const name = String(status) in responses ? String(status) : 'default';
    const base = responses[name]?.$ref ?? `#/paths/${escape(path)}/${method.toLowerCase()}/responses/${name}`;
    return `${base}/content/${escape(type)}/schema`;
  };
  return {
    errorsOf,
    check: (method, path, answer) => {
      const what = `${method} ${path} ${answer.status}`;
      const response = responseOf(method, path, answer.status);
      const type = String(answer.headers['content-type']).split(';')[0] ?? '';
      assert.ok(response.content && type in response.content, `${what}: ${type} is not documented`);
      for (const [name, reference] of Object.entries(response.headers ?? {})) {
        const header = follow(reference) as { required?: boolean; schema?: { type?: string } };
        const value = answer.headers[name.toLowerCase()];
        if (header.required === true) assert.ok(value !== undefined, `${what}: no header ${name}`);
        if (value !== undefined && header.schema?.type === 'integer')
          assert.match(String(value), /^\d+$/, name);
      }
      for (const name of Object.keys(answer.headers)) {
        const documented = [...Object.keys(response.headers ?? {}), ...everywhere, 'Content-Type'];
        assert.ok(
          documented.some((one) => one.toLowerCase() === name),
          `${what}: the header ${name} is not documented`,
        );
      }
      const body: unknown = type.endsWith('json') ? sampleOf(JSON.parse(answer.text)) : answer.text;
      assert.deepEqual(errorsOf(pointerOf(method, path, answer.status, type), body), [], what);
    },
  };
}

/** Elements of a long answer that are checked: all would cost more than the read. */
const heldDataMax = 20;

function sampleOf(body: unknown): unknown {
  const { data } = Object(body) as { data?: unknown };
  if (!Array.isArray(data) || data.length <= heldDataMax) return body;
  const step = Math.ceil(data.length / heldDataMax);
  return { ...Object(body), data: data.filter((_, n) => n % step === 0) };
}

function readSchema(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`schema/${name}.json`, projectRoot), 'utf8'));
}

const document = readSchema('openapi') as OpenApiDocument;
const conform = conformance(document);
const outputs = readSchema('commands') as CommandDocument;
const ajvOfOutputs = new Ajv2020({ strict: false, validateFormats: false }).addSchema(outputs, 'commands');

/** The document's path of a request path, such as `/api/v1/portal/users/{id}/disable`. */
function templateOf(path: string): string | undefined {
  if (path in document.paths) return path;
  return Object.keys(document.paths).find((one) =>
    new RegExp(`^${one.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
}

/**
 * Checks any answer: by its operation, or as a problem if the document has none. Encoded and non-JSON bodies
 * are skipped.
 */
export function holdAnswer(method: string, path: string, answer: HttpAnswer): void {
  const type = String(answer.headers['content-type']).split(';')[0] ?? '';
  if (!type.endsWith('json') || type.endsWith('ndjson')) return;
  if (method === 'HEAD' || answer.headers['content-encoding'] !== undefined) return;
  assert.ok(answer.text.endsWith('\n'), `${method} ${path}: a JSON body ends with a line break`);
  const template = templateOf(path.split('?')[0] ?? '');
  const operation = template === undefined ? undefined : document.paths[template]?.[method.toLowerCase()];
  if (template !== undefined && operation !== undefined) return conform.check(method, template, answer);
  const errors = conform.errorsOf('#/components/schemas/Problem', JSON.parse(answer.text));
  assert.deepEqual(errors, [], `${method} ${path} ${answer.status}: ${answer.text.slice(0, 200)}`);
}

interface CommandDocument {
  /** Schema names in `$defs` by a command's words. */
  readonly commands: Readonly<Record<string, string>>;
}

/** Compares the output of `--json` with schema/commands.yaml; ignores other output. */
export function holdOutput(args: readonly string[], stdout: string): void {
  if (!args.includes('--json') || stdout === '') return;
  const command = Object.keys(outputs.commands)
    .toSorted((a, b) => b.length - a.length)
    .find((one) => one.split(' ').every((word) => args.includes(word)));
  assert.ok(command !== undefined, `schema/commands.yaml has no command ${args.join(' ')}`);
  const isValid = ajvOfOutputs.getSchema(`commands#/$defs/${outputs.commands[command]}`);
  assert.ok(isValid?.(JSON.parse(stdout)), `${args.join(' ')}: ${ajvOfOutputs.errorsText(isValid?.errors)}`);
}
