export interface Fault {
  readonly pointer: string;
  readonly rule: string;
}
