import { chmod, rm } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';
import { errorFacts, type Logger } from '../base/observability/log.ts';

/** How long a command waits for the server to store the events of what it has changed. */
const waitMsMax = 3_000;

const pathOf = (dataDir: string): string => join(dataDir, 'control.sock');

/**
 * Lets commands on the data directory tell this server that they have changed something: it runs `work`, and closes the connection
 * when that has ended. Resolves with what ends it. Where the system gives no socket, as the path is too long, commands do without.
 */
export async function listenToCommands(
  dataDir: string,
  work: () => Promise<void>,
  log: Logger,
): Promise<() => Promise<void>> {
  const path = pathOf(dataDir);
  const server = createServer((connection) => {
    connection.on('error', (error) => log.debug(errorFacts(error), 'a command went away'));
    work()
      .catch((error: unknown) => log.warn(errorFacts(error), 'what a command has changed is not read yet'))
      .finally(() => connection.destroy());
  });
  await rm(path, { force: true });
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
    await chmod(path, 0o600);
  } catch (error) {
    log.warn(
      errorFacts(error),
      'commands cannot tell this server what they change: it sees that a second later',
    );
    return async () => undefined;
  }
  return () => new Promise((resolve) => server.close(() => resolve()));
}

/** Tells the server of a data directory, and waits for its end, not for long. False where no server listens. */
export function tellServer(dataDir: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = createConnection(pathOf(dataDir));
    connection.setTimeout(waitMsMax, () => connection.destroy());
    let isThere = false;
    connection.on('connect', () => (isThere = true));
    // Closed follows, whatever the error is.
    connection.on('error', () => undefined);
    connection.on('close', () => resolve(isThere));
    connection.resume();
  });
}
