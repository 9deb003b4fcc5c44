import { ocsfEventSchema, openApiDocument } from '../../contract/document.ts';
import type { Handler } from '../router.ts';

/** GET /openapi.json: the description of the API (contract: Operations). */
export function openapiHandler(): Handler {
  let body: string | undefined;
  return () => {
    body ??= JSON.stringify(openApiDocument());
    return { status: 200, body };
  };
}

/** GET /ocsf-event.schema.json: what events are with `schema=ocsf` (contract: Operations). */
export function ocsfSchemaHandler(): Handler {
  let body: string | undefined;
  return () => {
    body ??= ocsfEventSchema();
    return { status: 200, body };
  };
}
