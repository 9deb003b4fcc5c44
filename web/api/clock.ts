/** How far the server's clock is ahead of the browser's, in milliseconds: the server's decides what a range means. */
let ahead = 0;

/** `time` was its answer (RFC 3339) to a request of then: its clock is this late at least. */
export function setServerTime(time: string, askedAtMs: number): void {
  ahead = Date.parse(time) - askedAtMs;
}

/** Unix milliseconds by the server's clock. */
export function serverNow(): number {
  return Date.now() + ahead;
}
