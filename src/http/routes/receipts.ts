import { foldCase } from '../../base/events/fold-case.ts';
import { limits } from '../../read/limits.ts';
import { Problem } from '../../base/errors/problem.ts';
import { readLimit, readOffset } from '../../read/filter.ts';
import { stringify } from '../../contract/stringify.ts';
import type { Receipt, ReceiptsReader } from '../../read/receipts.ts';
import { QueryParameters } from '../../read/parameters.ts';
import type { SessionHandler } from '../endpoint.ts';
import { ignoredParameters, pageLinks } from '../read-headers.ts';
import { jsonLine } from '../response.ts';

/** Throws Problem `forbidden` if the organization's policy `receipts` is off (contract: Read, receipts). */
export function receiptsHandler(readReceipts: ReceiptsReader): SessionHandler {
  return async (context, { user, organization }) => {
    if (organization.receipts === 'off') {
      throw new Problem('forbidden', 'Receipts are switched off in this organization.');
    }
    const parameters = new QueryParameters(context.query);
    const limit = readLimit(parameters, limits.pageLimitDefault, limits.pageLimitMax);
    const offset = readOffset(parameters);
    const owner = { id: user.id, email: foldCase(user.email) };
    const { receipts, total } = await readReceipts(organization.id, owner, { limit, offset }, context.signal);
    const meta = stringify('PageMeta', { total, limit, offset });
    const links = pageLinks(context, { limit, offset }, { total, searchedBackTo: undefined });
    const headers = { ...ignoredParameters(parameters), ...links };
    return {
      status: 200,
      headers,
      body: jsonLine(`{"data":[${receipts.map(receiptText).join(',\n')}],"meta":${meta}}`),
    };
  };
}

/** Inserts the size as text: JSON writers do not keep all digits of a number. */
function receiptText({ members, sizeDigits }: Receipt): string {
  const text = stringify('Receipt', members);
  return sizeDigits === undefined ? text : `{"file_size":${sizeDigits},${text.slice(1)}`;
}
