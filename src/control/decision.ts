import type { Change, EventActor, EventOrigin } from './change-events.ts';
import type { Part, UnseenKey } from './records.ts';
import type { ControlState } from './state.ts';

/** Who asks for a change, and from where. */
export interface Call {
  /** UUID: a repeat with it gets the first answer again, for a day. Undefined: nobody repeats it. */
  readonly id?: string | undefined;
  /** A digest of the request: another request with the same id is refused. */
  readonly request?: string;
  readonly actor: EventActor;
  /** Undefined for a command, and for what the service does by itself. */
  readonly origin?: EventOrigin;
}

/** When a change is made: Unix microseconds, and its place in the journal. */
export interface Moment {
  readonly micros: number;
  readonly place: number;
  /** In a repeat of a call that makes a secret: what the call made before. Its answer may have been lost. */
  readonly unseen?: UnseenKey | undefined;
}

/** What a change comes to: records that are written together, the events that tell of them, and the answer. */
export interface Decision<T> {
  /** None: nothing changes. */
  readonly parts: readonly Part[];
  readonly changes: readonly Change[];
  /** Further events: JSON of source events that name their organizations. */
  readonly events?: readonly string[];
  readonly result: T;
  /** The key whose text is in the result: it is stored nowhere, so a repeat of the call ends it and makes another. */
  readonly unseen?: UnseenKey;
}

/**
 * Decides about a change by what there is. Throws a Problem where it may not be made. Called again where another change came
 * first, so it does nothing but decide.
 */
export type Decide<T> = (state: ControlState, moment: Moment) => Decision<T>;

/** Nothing is to be changed. */
export function unchanged<T>(result: T): Decision<T> {
  return { parts: [], changes: [], result };
}

/** What there was before and what there is now; the same object where nothing changed. */
export interface Changed<T> {
  readonly before: T;
  readonly now: T;
}

/** Two decisions as one, with the result of the second. */
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
