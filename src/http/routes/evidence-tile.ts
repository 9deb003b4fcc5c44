import { Problem } from '../../base/errors/problem.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SharedHandler } from '../endpoint.ts';

/** GET /api/v1/audit/evidence/tile/…: hashes of the tree, and entries of events, by the paths of C2SP tlog-tiles. */
export function evidenceTileHandler({ evidence }: Pick<EndpointDeps, 'evidence'>): SharedHandler {
  return async (context, { organization }) => {
    const body = await evidence.tile(organization.id, `tile/${context.parameter('path')}`);
    if (body === undefined) throw new Problem('not_found', 'The tree has no such tile.');
    return { status: 200, headers: { 'Content-Type': 'application/octet-stream' }, body };
  };
}
