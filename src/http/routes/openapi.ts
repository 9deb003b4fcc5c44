import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { Handler } from '../router.ts';

const document = new URL('../../../schema/openapi.yaml', import.meta.url);

/** GET /openapi.json: schema/openapi.yaml as JSON, read on the first request. */
export function openapiHandler(): Handler {
  let body: string | undefined;
  return async () => {
    body ??= JSON.stringify(parse(await readFile(document, 'utf8')));
    return { status: 200, body };
  };
}
