import { Command, CommanderError, Help, type Option } from 'commander';
import { Problem } from '../base/errors/problem.ts';
import { fileErrorWords } from '../base/errors/system-error.ts';
import { ConfigError } from '../config/config.ts';
import { registerBackup } from './backup.ts';
import { registerCompletion } from './completion.ts';
import { type CliDeps, ProcessEnded } from './context.ts';
import { registerDemo } from './demo.ts';
import { registerDoctor } from './doctor.ts';
import { registerErase } from './erase.ts';
import { registerExport } from './export.ts';
import { registerForward } from './forward.ts';
import { registerImport } from './import.ts';
import { registerInit } from './init.ts';
import { registerKey } from './key.ts';
import { limits } from './limits.ts';
import { registerOcsf } from './ocsf.ts';
import { registerOrg } from './org.ts';
import { registerSignOn } from './sign-on.ts';
import { variablesText } from './output.ts';
import { registerRestore } from './restore.ts';
import { registerServe } from './serve.ts';
import { registerStatus } from './status.ts';
import { registerStop } from './stop.ts';
import { registerUser } from './user.ts';
import { Unconfirmed } from './unconfirmed.ts';
import { registerVerify } from './verify.ts';
import { registerWriters } from './writers.ts';
import { registerVersion, version } from './version.ts';

/** Exit codes (contract: Command line). */
const exitCodes = { done: 0, failed: 1, wrongUsage: 2, unconfirmed: 3 } as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

function createProgram(deps: CliDeps): Command {
  const program = new Command('auditlog')
    .description('Audit logging service')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => deps.io.out(text),
      writeErr: (text) => deps.io.error(text),
      // Wrong usage is told like whatever else goes wrong.
      outputError: (text, write) => write(text.replace(/^error: /, 'auditlog: ')),
      getOutHelpWidth: () => limits.helpColumnsMax,
      getErrHelpWidth: () => limits.helpColumnsMax,
    })
    .option('-V, --version', 'print the version')
    .on('option:version', () => {
      deps.io.out(`${version()}\n`);
      throw new CommanderError(exitCodes.done, 'auditlog.version', 'the version was printed');
    })
    .configureHelp({ optionDescription: described })
    .addHelpText('after', '\nVariables of the environment: auditlog help environment');
  registerServe(program, deps);
  registerStatus(program, deps);
  registerStop(program, deps);
  registerDemo(program, deps);
  registerInit(program, deps);
  registerOrg(program, deps);
  registerSignOn(program, deps);
  registerUser(program, deps);
  registerKey(program, deps);
  registerForward(program, deps);
  registerImport(program, deps);
  registerExport(program, deps);
  registerOcsf(program, deps);
  registerVerify(program, deps);
  registerDoctor(program, deps);
  registerBackup(program, deps);
  registerRestore(program, deps);
  registerErase(program, deps);
  registerWriters(program, deps);
  registerVersion(program, deps);
  registerCompletion(program, deps);
  registerEnvironment(program);
  return program;
}

/** Wrong usage without it, so the help says so. */
function described(this: Help, option: Option): string {
  const text = Help.prototype.optionDescription.call(this, option);
  return option.mandatory && option.defaultValue === undefined ? `${text} (required)` : text;
}

/** `help environment`: what serves and demos go by; longer than all else, so other help only names it. */
function registerEnvironment(program: Command): void {
  const command = program.command('environment', { hidden: true });
  command.helpInformation = variablesText;
  command.action(() => command.outputHelp());
}

/** The words for an error, without a stack, and the exit code. */
export function explain(error: unknown): { lines: string; code: ExitCode } {
  if (error instanceof ConfigError) return { lines: error.message, code: exitCodes.wrongUsage };
  if (error instanceof Problem && error.code === 'malformed') {
    return { lines: error.message, code: exitCodes.wrongUsage };
  }
  if (error instanceof Unconfirmed) return { lines: error.message, code: exitCodes.unconfirmed };
  const message = fileErrorWords(error) ?? (error instanceof Error ? error.message : String(error));
  return { lines: message.split('\n', 1)[0] ?? message, code: exitCodes.failed };
}

/** Runs one command line (without the program's name) to its end; never rejects. */
export async function runCli(args: readonly string[], deps: CliDeps): Promise<ExitCode> {
  try {
    await createProgram(deps).parseAsync(args, { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    // Commander has printed the error or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUsage;
    if (error instanceof ProcessEnded)
      return error.code === exitCodes.wrongUsage ? exitCodes.wrongUsage : exitCodes.failed;
    const { lines, code } = explain(error);
    for (const line of lines.split('\n')) deps.io.error(`auditlog: ${line}\n`);
    return code;
  }
}
