import { createHmac, timingSafeEqual } from 'node:crypto';
import { Problem } from '../base/errors/problem.ts';

/** The position of the last returned event, signed for one organization. */
export interface FeedCursors {
  write(organization: string, seq: bigint): string;
  /** Throws a Problem (400) unless the cursor belongs to this organization. */
  read(organization: string, cursor: string): bigint;
}

const tagBytes = 16;
const seqBytes = 8;

export function createFeedCursors(secret: string): FeedCursors {
  const key = createHmac('sha256', secret).update('feed cursor 1').digest();
  const tagOf = (organization: string, seq: Buffer): Buffer =>
    createHmac('sha256', key).update(organization).update(seq).digest().subarray(0, tagBytes);
  return {
    write(organization, seq) {
      const bytes = Buffer.alloc(seqBytes);
      bytes.writeBigUInt64BE(seq);
      return Buffer.concat([bytes, tagOf(organization, bytes)]).toString('base64url');
    },
    read(organization, cursor) {
      const bytes = Buffer.from(cursor, 'base64url');
      const seq = bytes.subarray(0, seqBytes);
      const isWhole = bytes.length === seqBytes + tagBytes && bytes.toString('base64url') === cursor;
      if (isWhole && timingSafeEqual(bytes.subarray(seqBytes), tagOf(organization, seq)))
        return seq.readBigUInt64BE();
      // Starting over silently would return every event again.
      throw new Problem('malformed', 'The parameter "cursor" is not a cursor of this feed.');
    },
  };
}
