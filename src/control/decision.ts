import type { Change, EventActor, EventOrigin } from './change-events.ts';
import type { Part, UnseenKey } from './records.ts';
import type { ControlState } from './state.ts';

export interface Call {
  /** UUID: a repeat gets the first answer for a day. Undefined: no repeats. */
  readonly id?: string | undefined;
  /** Digest: another request with this id is refused. */
  readonly request?: string;
  readonly actor: EventActor;
  /** Undefined for commands and the service itself. */
  readonly origin?: EventOrigin;
}

/** Unix microseconds; place in the journal. */
export interface Moment {
  readonly micros: number;
  readonly place: number;
  /** The key made by an earlier try of this call, whose answer may be lost. */
  readonly unseen?: UnseenKey | undefined;
}

export interface Decision<T> {
  /** Empty: nothing changes. */
  readonly parts: readonly Part[];
  readonly changes: readonly Change[];
  /** JSON of source events with their organizations. */
  readonly events?: readonly string[];
  readonly result: T;
  /** The key whose text only the result has: a repeat ends it. */
  readonly unseen?: UnseenKey;
}

/** Throws a Problem if the change is not allowed. Called again after another change, so it must have no effects. */
export type Decide<T> = (state: ControlState, moment: Moment) => Decision<T>;

export function unchanged<T>(result: T): Decision<T> {
  return { parts: [], changes: [], result };
}

/** The same object if nothing changed. */
export interface Changed<T> {
  readonly before: T;
  readonly now: T;
}

/** Has the result of the second. */
export function together<T>(
  first: Pick<Decision<unknown>, 'parts' | 'changes'>,
  second: Decision<T>,
): Decision<T> {
  return {
    ...second,
    parts: [...first.parts, ...second.parts],
    changes: [...first.changes, ...second.changes],
  };
}
