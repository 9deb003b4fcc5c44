import { ControlTable, field, type RowOf, time, version } from './control-table.ts';

export const endedSessionTable = new ControlTable('ended_sessions', 'String', {
  /** Claim `jti`. */
  id: field<string>('id'),
  expiresMicros: time('expires_at'),
  version: version(),
});

/** A session that was ended before it expired, such as by a logout; forgotten once it would have expired. */
export type EndedSession = RowOf<typeof endedSessionTable>;
