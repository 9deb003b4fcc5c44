import { formatMicros } from '../../base/time/timestamp.ts';
import type { EndpointDeps } from '../deps.ts';
import type { SharedHandler } from '../endpoint.ts';
import { jsonReply } from '../response.ts';

/**
 * GET /api/v1/audit/evidence/key: the keys that have signed checkpoints, the newest last, each with what the one before
 * it says of it; and since when there is evidence.
 */
export function evidenceKeyHandler({ evidence }: Pick<EndpointDeps, 'evidence'>): SharedHandler {
  return async (_, { organization }) => {
    const { origin, keys, progress } = await evidence.keys(organization.id);
    return jsonReply(200, 'EvidenceKeys', {
      origin,
      keys: keys.map(({ verifierKey, statement, addedMicros }) => ({
        key: verifierKey,
        added_at: formatMicros(addedMicros),
        ...(statement !== '' && { statement }),
      })),
      ...(progress !== undefined && {
        begun_at: formatMicros(progress.begunMicros),
        begun_before_seq: String(progress.begunBefore),
      }),
    });
  };
}
