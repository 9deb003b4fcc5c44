/**
 * What an event's leaf in its tree commits to (src/tlog/entry.ts), as the engine makes it of the columns. Whatever is
 * stored of an event is in it: a column that is added to the table belongs here, or to the entry, or is altered unnoticed.
 */

/** The columns, beside the rendering, that filters look at. */
export const shownColumns = `formatRow('RowBinary', org, activity_id, activity_name, severity, status,
  level, result_code, actor_email, actor_id, names, file_hash, file_name, target_name, flow_id)`;

/**
 * SHA-256 of what pages show of an event, and filters look at: of the hash of the rendering, and behind it of the other
 * columns in RowBinary. So the rendering is hashed where it is, and not copied before.
 */
export const shownHash = `SHA256(concat(SHA256(ocsf), ${shownColumns}))`;

/**
 * The hash of an event as it is stored now. The column `event_hash` is this expression at the time of the INSERT: trees
 * are built from it, and whoever verifies them makes it anew.
 */
export const eventHashNow = `SHA256(concat(SHA256(source), ${shownHash}))`;
