import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../base/errors/problem.ts';
import { ifThere } from '../base/errors/system-error.ts';
import { isServed } from '../base/files/directory-lock.ts';
import { askServer, type CommandRequest } from '../control/command-socket.ts';
import { version } from '../tools/version.ts';

/** Longer than a restart of the server and the ten seconds a change may take. */
const askMsMax = 60_000;
const askAgainMs = 200;

export const isServerThere = async (dataDir: string): Promise<boolean> =>
  (await ifThere(isServed(dataDir))) === true;

/**
 * Makes a change on the server of a data directory. Repeats the same call while its answer is lost or unknown. Undefined: no
 * server runs any more. Rejects as the server does.
 */
export async function changeByServer(
  dataDir: string,
  asked: Omit<CommandRequest, 'version'>,
): Promise<{ readonly result: unknown } | undefined> {
  const request = { version: version(), ...asked };
  const deadline = performance.now() + askMsMax;
  for (;;) {
    const isLast = performance.now() > deadline;
    const answer = await onceAsked(dataDir, request, isLast);
    if (answer !== undefined) return answer;
    if (!(await isServerThere(dataDir))) return undefined;
    if (isLast)
      throw new Error(
        `The server on DATA_DIR ${dataDir} does not answer, so it is unknown whether the change was made: look at it with "list" or "show" before you repeat it`,
      );
    await sleep(askAgainMs);
  }
}

async function onceAsked(dataDir: string, request: CommandRequest, isLast: boolean) {
  try {
    return await askServer(dataDir, request, askMsMax);
  } catch (error) {
    if (!isLast && error instanceof Problem && error.code === 'unavailable') return undefined;
    throw error;
  }
}
