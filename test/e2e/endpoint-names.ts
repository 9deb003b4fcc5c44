import type { EndpointDeps } from '../../src/http/deps.ts';
import { endpointTable } from '../../src/http/routes.ts';

/** `METHOD path` of every endpoint. Handlers get no dependencies, because none is called. */
export function endpointNames(): string[] {
  const deps = { read: {}, readiness: {}, ingest: {}, config: {} } as unknown as EndpointDeps;
  return endpointTable(deps).map(({ method, path }) => `${method} ${path}`);
}
