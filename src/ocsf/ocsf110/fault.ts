/** A fault of an event, and its JSON pointer. */
export interface Fault {
  readonly pointer: string;
  readonly rule: string;
}
