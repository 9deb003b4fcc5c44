import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { Handler } from '../router.ts';

const schemaFolder = new URL('../../../schema/', import.meta.url);

/** GET /openapi.json: schema/openapi.yaml as one JSON document, with the schema files that it refers to inside. */
export function openapiRoute(): Handler {
  let document: Promise<string> | undefined;
  return async () => {
    document ??= bundle();
    return { status: 200, body: await document };
  };
}

async function bundle(): Promise<string> {
  const openapi = parse(await readFile(new URL('openapi.yaml', schemaFolder), 'utf8')) as {
    components: { schemas: Record<string, unknown> };
  };
  const files = new Map<string, string>();
  const replaced = rewriteRefs(openapi, (ref) => {
    const [, file, pointer = ''] = /^\.\/([^#]+)#?(.*)$/.exec(ref) ?? [];
    if (file === undefined) return ref;
    const name = file
      .replace(/\.schema\.json$/, '')
      .replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
    files.set(file, name);
    return `#/components/schemas/${name}${pointer}`;
  }) as typeof openapi;
  for (const [file, name] of files) {
    const schema: unknown = JSON.parse(await readFile(new URL(file, schemaFolder), 'utf8'));
    // The file's references to itself start at its own root, which is now inside the document.
    const moved = rewriteRefs(schema, (ref) => ref.replace(/^#/, `#/components/schemas/${name}`)) as Record<
      string,
      unknown
    >;
    const { $schema: _dialect, $id: _id, ...rest } = moved;
    replaced.components.schemas[name] = rest;
  }
  return JSON.stringify(replaced);
}

function rewriteRefs(value: unknown, rewrite: (ref: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => rewriteRefs(one, rewrite));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      key === '$ref' && typeof one === 'string' ? rewrite(one) : rewriteRefs(one, rewrite),
    ]),
  );
}
