import type { EndpointDeps } from '../deps.ts';
import type { SharedHandler } from '../endpoint.ts';
import { readSize } from './evidence-proof.ts';

/**
 * GET /api/v1/audit/evidence/checkpoint: the newest signed checkpoint of the organization's events, or the oldest of at
 * least `size` events (contract: Read, evidence). GET /api/v1/portal/evidence/… answers all of these for a session.
 */
export function evidenceCheckpointHandler({ evidence }: Pick<EndpointDeps, 'evidence'>): SharedHandler {
  return async (context, { organization }) => {
    const { text } = await evidence.checkpoint(organization.id, readSize(context, 'size'));
    return { status: 200, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: text };
  };
}
