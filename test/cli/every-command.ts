import { strict as assert } from 'node:assert';
import { runCli } from '../../src/cli/program.ts';
import type { CliDeps } from '../../src/cli/context.ts';

/** A command's use of the data directory. */
type Needs =
  /** Refuses one without data. */
  | 'data'
  /** Makes the data. */
  | 'none'
  /** Does not use it. */
  | 'nothing';

interface EveryCommand {
  readonly needs: Needs;
  /** Arguments with which it does its work; `DIR` stands for a directory for files. */
  readonly args: readonly string[];
  readonly stdin?: string;
}

const org = ['--org', 'acme'];
const stdin = 'correct horse battery';

/** All commands by name. */
export const everyCommand: Readonly<Record<string, EveryCommand>> = {
  serve: { needs: 'none', args: [] },
  demo: { needs: 'none', args: [] },
  init: { needs: 'none', args: [...org, '--email', 'ann@acme.example'] },
  'org create': { needs: 'none', args: [...org, '--name', 'Acme'] },
  import: { needs: 'none', args: ['-'] },
  restore: { needs: 'none', args: ['--from', 'DIR/no-backup'] },
  status: { needs: 'data', args: [] },
  stop: { needs: 'data', args: [] },
  'org list': { needs: 'data', args: [] },
  'org show': { needs: 'data', args: org },
  'org set': { needs: 'data', args: [...org, '--name', 'Acme'] },
  'org hold': { needs: 'data', args: [...org, '--reason', 'a case'] },
  'org release': { needs: 'data', args: [...org, '--reason', 'its end'] },
  'org delete': { needs: 'data', args: [...org, '--dry-run'] },
  'org deletions': { needs: 'data', args: [] },
  'sign-on list': { needs: 'data', args: [] },
  'sign-on set': { needs: 'data', args: [...org, '--provider', 'off'] },
  'user create': {
    needs: 'data',
    args: [...org, '--email', 'a@acme.example', '--name', 'A', '--role', 'admin', '--password-stdin'],
    stdin,
  },
  'user list': { needs: 'data', args: [] },
  'user disable': { needs: 'data', args: ['ann@acme.example'] },
  'user enable': { needs: 'data', args: ['ann@acme.example'] },
  'user set-role': { needs: 'data', args: ['ann@acme.example', '--role', 'auditor'] },
  'user set-password': { needs: 'data', args: ['ann@acme.example', '--password-stdin'], stdin },
  'key create': { needs: 'data', args: [...org, '--scopes', 'read'] },
  'key list': { needs: 'data', args: [] },
  'key rotate': { needs: 'data', args: ['0123456789abcdef'] },
  'key revoke': { needs: 'data', args: ['0123456789abcdef'] },
  export: { needs: 'data', args: [...org, '-o', 'DIR/events.ndjson'] },
  'export --evidence': { needs: 'data', args: [...org, '-o', 'DIR/evidence.ndjson'] },
  summarize: { needs: 'data', args: org },
  verify: { needs: 'data', args: org },
  doctor: { needs: 'data', args: [] },
  'doctor --detach': { needs: 'data', args: ['all_1_1_0'] },
  'doctor --record-missing': { needs: 'data', args: [] },
  'doctor --repair': { needs: 'data', args: [] },
  backup: { needs: 'data', args: ['--to', 'DIR/backups'] },
  erase: { needs: 'data', args: [...org, '--email', 'ann@acme.example'] },
  // There are none without CLICKHOUSE_URL.
  forward: { needs: 'nothing', args: ['--url', 'http://127.0.0.1:9'] },
  'ocsf validate': { needs: 'nothing', args: ['DIR/no-file'] },
  version: { needs: 'nothing', args: [] },
  completion: { needs: 'nothing', args: ['bash'] },
  environment: { needs: 'nothing', args: [] },
};

/** Names of commands by their use of the data directory. */
export const commandsThat = (needs: Needs): string[] =>
  Object.keys(everyCommand).filter((name) => everyCommand[name]?.needs === needs);

/** The command line of a command. */
export function lineOf(name: string, directory: string): { args: string[]; stdin: string } {
  const { args, stdin: input = '' } = everyCommand[name] ?? assert.fail(name);
  const words = [...name.split(' '), ...args];
  return { args: words.map((word) => word.replace(/^DIR/, directory)), stdin: input };
}

/** The program's commands, without those that only group others. */
export async function namesInProgram(): Promise<string[]> {
  let script = '';
  const deps = { environment: {}, io: { out: (text: string) => (script += text) } };
  assert.equal(await runCli(['completion', 'bash'], deps as unknown as CliDeps), 0);
  const paths = Array.from(script.matchAll(/^ {4}'auditlog ([^']+)'\)/gm), ([, path = '']) => path);
  // The script also has options with values.
  const commands = paths.filter((path) => !path.includes(' -'));
  return commands.filter((path) => !commands.some((other) => other.startsWith(`${path} `)));
}
