/**
 * An event's leaf in its tree (src/tlog/entry.ts), as SQL over the columns. Each stored column must be in a hash or in the entry,
 * or it could be altered unnoticed.
 */

export const shownColumns = `formatRow('RowBinary', org, activity_id, activity_name, severity, status,
  level, result_code, actor_email, actor_id, names, file_hash, file_name, target_name, flow_id)`;

/** Of the rendering's hash and the other columns in RowBinary. The rendering is hashed in place instead of copied. */
export const shownHash = `SHA256(concat(SHA256(ocsf), ${shownColumns}))`;

/** The column `event_hash` has the value at INSERT, from which trees are built; verifiers compute it anew. */
export const eventHashNow = `SHA256(concat(SHA256(source), ${shownHash}))`;
