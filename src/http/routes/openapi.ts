import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { Handler } from '../router.ts';

const document = new URL('../../../schema/openapi.yaml', import.meta.url);

/** GET /openapi.json: schema/openapi.yaml as JSON, read on the first request. */
export function openapiRoute(): Handler {
  let body: Promise<string> | undefined;
  return async () => {
    body ??= readFile(document, 'utf8').then((text) => JSON.stringify(parse(text)));
    return { status: 200, body: await body };
  };
}
