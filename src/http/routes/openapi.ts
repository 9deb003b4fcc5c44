import { openApiDocument } from '../../contract/document.ts';
import type { Handler } from '../router.ts';

/** GET /openapi.json: the description of the API (contract: Operations). */
export function openapiHandler(): Handler {
  let body: string | undefined;
  return () => {
    body ??= JSON.stringify(openApiDocument());
    return { status: 200, body };
  };
}
