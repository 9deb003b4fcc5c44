/** What is wrong with an event, and where: a JSON pointer. */
export interface Fault {
  readonly pointer: string;
  readonly rule: string;
}
