import { Command, CommanderError, Help, type Option } from 'commander';
import { Problem } from '../base/errors/problem.ts';
import { fileErrorWords, messageOf } from '../base/errors/system-error.ts';
import { registerCompletion } from './completion.ts';
import type { ToolDeps } from './context.ts';
import { type ExportEngine, registerExport } from './export.ts';
import { registerForward } from './forward.ts';
import { type ImportEngine, registerImport } from './import.ts';
import { limits } from './limits.ts';
import { registerOcsf } from './ocsf.ts';
import { Unconfirmed } from './unconfirmed.ts';
import { registerVerify, type VerifyEngine } from './verify.ts';
import { version } from './version.ts';

export const exitCodes = { done: 0, failed: 1, wrongUsage: 2, unconfirmed: 3 } as const;

/** For `--help` and docs/errors.md. */
export const exitCodeMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  done: 'done',
  failed: 'failed; the last line of standard error gives the reason',
  wrongUsage: 'wrong usage or setting, a directory without data, or an unreadable file',
  unconfirmed: 'only `verify`: nothing contradicts what was signed, but you must confirm a decision',
};

function exitCodesText(): string {
  const lines = Object.entries(exitCodeMeanings).map(
    ([name, meaning]) => `  ${exitCodes[name as keyof typeof exitCodes]}  ${meaning.replaceAll('`', '')}`,
  );
  return ['\nExit codes:', ...lines].join('\n');
}

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export interface Engine {
  readonly import: ImportEngine;
  readonly export: ExportEngine;
  readonly verify: VerifyEngine;
}

export function createProgram(name: string, description: string, { io }: Pick<ToolDeps, 'io'>): Command {
  return new Command(name)
    .description(description)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text),
      writeErr: (text) => io.error(text),
      outputError: (text, write) => write(text.replace(/^error: /, `${name}: `)),
      getOutHelpWidth: () => limits.helpColumnsMax,
      getErrHelpWidth: () => limits.helpColumnsMax,
    })
    .option('-V, --version', 'print the version')
    .on('option:version', () => {
      io.out(`${version()}\n`);
      throw new CommanderError(exitCodes.done, 'auditlog.version', 'the version was printed');
    })
    .configureHelp({ optionDescription: described })
    .addHelpText('after', exitCodesText());
}

function described(this: Help, option: Option): string {
  const text = Help.prototype.optionDescription.call(this, option);
  return option.mandatory && option.defaultValue === undefined ? `${text} (required)` : text;
}

/** Commands that use HTTP and files; both programs have them. */
export function registerTools(program: Command, deps: ToolDeps, engine?: Engine): void {
  registerForward(program, deps);
  registerImport(program, deps, engine?.import);
  registerExport(program, deps, engine?.export);
  registerOcsf(program, deps);
  registerVerify(program, deps, engine?.verify);
}

export function explain(error: unknown): { lines: string; code: ExitCode } {
  if (error instanceof Problem && error.code === 'malformed') {
    return { lines: error.message, code: exitCodes.wrongUsage };
  }
  if (error instanceof Unconfirmed) return { lines: error.message, code: exitCodes.unconfirmed };
  const message = fileErrorWords(error) ?? messageOf(error);
  return { lines: message.split('\n', 1)[0] ?? message, code: exitCodes.failed };
}

/** Never rejects. */
export async function runProgram(
  program: Command,
  args: readonly string[],
  { io }: ToolDeps,
  explained: typeof explain = explain,
): Promise<ExitCode> {
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    // Commander printed the error or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.wrongUsage;
    const { lines, code } = explained(error);
    for (const line of lines.split('\n').filter((text) => text !== ''))
      io.error(`${program.name()}: ${line}\n`);
    return code;
  }
}

export async function runTools(args: readonly string[], deps: ToolDeps): Promise<ExitCode> {
  const program = createProgram(
    'auditlog-tools',
    'Tools of the audit logging service, for other machines',
    deps,
  );
  registerTools(program, deps);
  registerCompletion(program, deps);
  return runProgram(program, args, deps);
}
