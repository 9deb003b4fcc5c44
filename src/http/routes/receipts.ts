import { limits } from '../../read/limits.ts';
import { Problem } from '../../base/problem.ts';
import { readLimit, readOffset } from '../../read/filter.ts';
import type { Receipt, ReceiptsReader } from '../../read/receipts.ts';
import type { SessionHandler } from '../endpoint.ts';

/**
 * GET /api/v1/portal/receipts: the signed-in user's own transfers, newest first, paged as the audit endpoint is
 * (contract: Read, receipts). Throws Problem `forbidden` where the organization's policy `receipts` is off.
 */
export function receiptsHandler(readReceipts: ReceiptsReader): SessionHandler {
  return async (context, { user, organization }) => {
    if (organization.receipts === 'off') {
      throw new Problem('forbidden', 'Receipts are switched off in this organization.');
    }
    const limit = readLimit(context.first('limit'), limits.pageLimitDefault, limits.pageLimitMax);
    const offset = readOffset(context.first('offset'));
    const owner = { id: user.id, email: user.emailLower };
    const { receipts, total } = await readReceipts(organization.id, owner, { limit, offset }, context.signal);
    const meta = JSON.stringify({ total, limit, offset });
    return { status: 200, body: `{"data":[${receipts.map(receiptText).join(',\n')}],"meta":${meta}}` };
  };
}

/** JSON in which what is not known is absent, as in audit events; the size keeps its digits, whatever their number. */
function receiptText(receipt: Receipt): string {
  const members = [
    member('flow_id', receipt.flowId),
    member('kind', receipt.kind),
    member('file_name', receipt.fileName),
    receipt.fileSize === undefined ? '' : `"file_size":${receipt.fileSize}`,
    member('destination', receipt.destination),
    member('status', receipt.status),
    member('started_at', receipt.startedAt),
    member('completed_at', receipt.completedAt),
  ];
  return `{${members.filter((text) => text !== '').join(',')}}`;
}

function member(name: string, value: string | undefined): string {
  return value === undefined ? '' : `"${name}":${JSON.stringify(value)}`;
}
