import { chmod, open, rm } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '../base/files/directory-lock.ts';
import { Problem, type ProblemCode } from '../base/errors/problem.ts';
import { ifThere } from '../base/errors/system-error.ts';
import { errorFacts, type Logger } from '../base/observability/log.ts';
import { operatorWords } from '../storage/exception.ts';

/** A restored journal of ten thousand organizations records one event in each. */
const requestBytesMax = 32 * 1024 * 1024;
const requestMsMax = 10_000;
const connectionsMax = 64;
/** How long a command waits for the events of its change to become readable. */
const settleMsMax = 3_000;
const name = 'control.sock';

/** One line of JSON. It may have hashes of passwords, and secrets: never log it. */
export interface CommandRequest {
  /** Of the command's program. */
  readonly version: string;
  /** Of the call. */
  readonly id: string;
  readonly operator: string;
  /** See `operatorChanges`. */
  readonly change: string;
  readonly values: readonly unknown[];
}

type CommandAnswer =
  | { readonly result?: unknown }
  | { readonly problem: { readonly code: ProblemCode; readonly detail: string; readonly members?: object } }
  | { readonly failure: string };

interface Server {
  readonly dataDir: string;
  readonly version: string;
  readonly log: Logger;
  change(request: CommandRequest): Promise<unknown>;
  /** Resolves once the events of changes are readable, or take too long. */
  settled(): Promise<unknown>;
}

/** Makes the changes that commands request. Resolves with the function that ends it. */
export async function listenToCommands(own: Server): Promise<() => Promise<void>> {
  const handle = await open(own.dataDir, 'r');
  const path = join(pathOf(handle, own.dataDir), name);
  const server = createServer((connection) => {
    connection.on('error', (error) => own.log.debug(errorFacts(error), 'A command closed its connection'));
    void serve(own, connection).finally(() => connection.destroy());
  });
  server.maxConnections = connectionsMax;
  // A killed server leaves its socket.
  await rm(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
  return async () => {
    await new Promise((resolve) => server.close(resolve));
    await handle.close();
  };
}

async function serve(own: Server, connection: Socket): Promise<void> {
  try {
    const line = await lineOf(connection, requestBytesMax, requestMsMax);
    if (line === undefined) return;
    connection.write(`${JSON.stringify(await answer(own, line))}\n`);
    await own.settled();
  } catch (error) {
    own.log.warn(errorFacts(error), 'The events of a command wait to be stored');
  }
}

async function answer(own: Server, line: string): Promise<CommandAnswer> {
  try {
    const request = JSON.parse(line) as CommandRequest;
    if (request.version !== own.version)
      return {
        failure: `the server on this DATA_DIR has version ${own.version} and this command ${request.version}: use the command of the server's version, or restart the server`,
      };
    return { result: await own.change(request) };
  } catch (error) {
    if (error instanceof Problem)
      return { problem: { code: error.code, detail: error.message, members: error.options.members ?? {} } };
    own.log.warn(errorFacts(error), 'A change that a command asked for failed');
    return { failure: operatorWords(error) };
  }
}

/**
 * Undefined: no server listens, or the connection broke before the answer. Rejects with the server's Problem, or an Error with
 * its message.
 */
export async function askServer(
  dataDir: string,
  request: CommandRequest,
  waitMsMax: number,
): Promise<{ readonly result: unknown } | undefined> {
  const handle = await ifThere(open(dataDir, 'r'));
  if (handle === undefined) return undefined;
  try {
    const connection = createConnection(join(pathOf(handle, dataDir), name));
    const closed = new Promise<void>((resolve) => connection.once('close', () => resolve()));
    connection.on('error', () => connection.destroy());
    connection.write(`${JSON.stringify(request)}\n`);
    const line = await lineOf(connection, requestBytesMax, waitMsMax);
    await Promise.race([closed, sleep(settleMsMax, undefined, { ref: false })]);
    connection.destroy();
    return line === undefined ? undefined : resultOf(JSON.parse(line) as CommandAnswer);
  } finally {
    await handle.close();
  }
}

function resultOf(answer: CommandAnswer): { readonly result: unknown } {
  if ('failure' in answer) throw new Error(answer.failure);
  if (!('problem' in answer)) return { result: answer.result };
  const { code, detail, members } = answer.problem;
  throw new Problem(code, detail, { members: { ...members } });
}

/** The first line; undefined if it is too long or too late, or the connection ends. */
function lineOf(connection: Socket, bytesMax: number, msMax: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    const end = (line?: string): void => {
      clearTimeout(timer);
      connection.removeAllListeners('data');
      connection.resume();
      if (line === undefined) connection.destroy();
      resolve(line);
    };
    const timer = setTimeout(() => end(), msMax);
    connection.once('close', () => end());
    connection.on('data', (piece: Buffer) => {
      bytes += piece.length;
      pieces.push(piece);
      if (bytes > bytesMax) end();
      else if (piece.at(-1) === 10) end(Buffer.concat(pieces).toString());
    });
  });
}
