import { ControlTable, field, time } from './control-table.ts';

/** A session that was ended before it expired, such as by a logout; forgotten once it would have expired. */
export interface EndedSession {
  /** Claim `jti`. */
  readonly id: string;
  readonly expiresMicros: number;
  readonly version: number;
}

export const endedSessionTable = new ControlTable<EndedSession>('ended_sessions', 'String', {
  id: field('id'),
  expiresMicros: time('expires_at'),
  version: field('version', Number),
});
