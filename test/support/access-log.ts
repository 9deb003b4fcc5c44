import { eventually } from './http.ts';
import type { TestServer } from './server.ts';

/** One line of the access log (contract: HTTP access log line). */
export interface Line {
  readonly timestamp: string;
  readonly status: number;
  readonly latency: string;
  readonly method: string;
  readonly path: string;
  readonly ip: string;
  readonly port: string;
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

/** The lines that `act` causes; `act` makes exactly `count` requests, with no others at the time. */
export async function linesOf(on: TestServer, count: number, act: () => Promise<unknown>): Promise<Line[]> {
  // First let delayed lines of earlier requests arrive.
  let before = -1;
  await eventually(
    'the access log to be quiet',
    async () => {
      const now = on.stdoutLines().length;
      const quiet = now === before;
      before = now;
      return quiet || undefined;
    },
    10_000,
    300,
  );
  await act();
  await eventually(`${count} access-log lines`, async () =>
    on.stdoutLines().length >= before + count ? true : undefined,
  );
  return on
    .stdoutLines()
    .slice(before)
    .map((line) => JSON.parse(line) as Line);
}
