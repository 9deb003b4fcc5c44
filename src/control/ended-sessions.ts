import { type Clock, systemClock } from '../base/clock.ts';
import type { Storage } from '../storage/storage.ts';
import { dateTimeText, type MicrosText } from './rows.ts';

/** A session that was ended before it expired, such as by a logout; forgotten once it would have expired. */
export interface EndedSession {
  /** Claim `jti`. */
  readonly id: string;
  readonly expiresMicros: number;
  readonly version: number;
}

export interface EndedSessionRow {
  readonly id: string;
  readonly expires_micros: MicrosText;
  readonly version: MicrosText;
}

export const endedSessionColumns = 'id, toUnixTimestamp64Micro(expires_at) AS expires_micros, version';

export function readEndedSession(row: EndedSessionRow): EndedSession {
  return { id: row.id, expiresMicros: Number(row.expires_micros), version: Number(row.version) };
}

/** Ends one session everywhere (contract: Sessions). Other processes know after their next refresh. */
export async function endSession(
  storage: Storage,
  session: { readonly id: string; readonly expiresMicros: number },
  clock: Clock = systemClock,
): Promise<void> {
  await storage.insertRows('ended_sessions', [
    { id: session.id, expires_at: dateTimeText(session.expiresMicros), version: clock() },
  ]);
}
