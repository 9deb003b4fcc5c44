import { strict as assert } from 'node:assert';
import { closeSync, openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { CliDeps } from '../../src/cli/context.ts';
import { sourceModule } from './cli-command.ts';

/**
 * The command line for shells that run many commands: one process in place of one for each, which would take half a second
 * of the processor to load the program. It listens on the local socket of its argument. A request's body is the id of the
 * shell, its environment (NUL-terminated, in base64), the number of arguments and the arguments, each ended by NUL, and
 * the standard input. The command writes to the shell's own output and error, and the answer is its exit code.
 */

const { runCli } = await sourceModule<typeof import('../../src/cli/program.ts')>('cli/program');
const { recordEvents } =
  await sourceModule<typeof import('../../src/cli/record-events.ts')>('cli/record-events');
const { eventHead, eventTail } =
  await sourceModule<typeof import('../../src/ocsf/envelope.ts')>('ocsf/envelope');

const serves = (): never => assert.fail('a service runs in a process of its own');

interface Call {
  readonly pid: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly input: Buffer;
}

function callOf(body: Buffer): Call {
  const fields: string[] = [];
  let rest = body;
  for (let count = 3; fields.length < count; count = 3 + Number(fields[2] ?? 0)) {
    const end = rest.indexOf(0);
    fields.push(rest.toString('utf8', 0, end));
    rest = rest.subarray(end + 1);
  }
  const [pid = '', settings = '', , ...args] = fields;
  const lines = Buffer.from(settings, 'base64').toString('utf8').split('\0').slice(0, -1);
  const environment = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s, 2)));
  return { pid, environment: environment as Record<string, string>, args, input: rest };
}

async function run(request: IncomingMessage): Promise<number> {
  const { pid, environment, args, input } = callOf(await buffer(request));
  const out = openSync(`/proc/${pid}/fd/1`, 'a');
  const error = openSync(`/proc/${pid}/fd/2`, 'a');
  const write = (fd: number, bytes: string | Buffer): void => {
    // A pipe may take less than all.
    for (let rest = Buffer.from(bytes); rest.length > 0; ) rest = rest.subarray(writeSync(fd, rest));
  };
  const output = new Writable({
    write: (bytes: Buffer, _encoding, done) => {
      write(out, bytes);
      done();
    },
  });
  const io = {
    out: (text: string) => write(out, text),
    error: (text: string) => write(error, text),
    output,
    input: Readable.from([input]),
  };
  try {
    const eventEnvelope: CliDeps['eventEnvelope'] = (config) => ({
      head: eventHead,
      tail: eventTail(config),
    });
    const untilStopped = (): Promise<void> => new Promise(() => undefined);
    const services = { startService: serves, startProcesses: serves, untilStopped };
    return await runCli(args, { environment, io, recordEvents, eventEnvelope, ...services });
  } finally {
    closeSync(out);
    closeSync(error);
  }
}

createServer((request, answer) => {
  run(request).then(
    (code) => answer.end(String(code)),
    (error: unknown) => answer.end(String(error)),
  );
}).listen(process.argv[2]);
// It ends with the test that started it.
process.stdin.on('end', () => process.exit(0)).resume();
