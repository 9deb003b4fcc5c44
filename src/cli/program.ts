import type { Command } from 'commander';
import { EngineError } from '../base/errors/engine-error.ts';
import { Problem } from '../base/errors/problem.ts';
import { ConfigError } from '../config/config.ts';
import { operatorWords } from '../storage/exception.ts';
import { registerCompletion } from '../tools/completion.ts';
import * as tools from '../tools/program.ts';
import { registerBackup } from './backup.ts';
import type { CliDeps } from './context.ts';
import { registerDemo } from './demo.ts';
import { registerDoctor } from './doctor.ts';
import { registerErase } from './erase.ts';
import { exportEngine } from './export.ts';
import { importEngine } from './import-target.ts';
import { registerInit } from './init.ts';
import { registerKey } from './key.ts';
import { registerOrg } from './org.ts';
import { variablesText } from './output.ts';
import { commandWith } from './repeat.ts';
import { registerRestore } from './restore.ts';
import { registerServe } from './serve.ts';
import { registerSignOn } from './sign-on.ts';
import { registerStatus } from './status.ts';
import { registerStop } from './stop.ts';
import { registerSummarize } from './summarize.ts';
import { registerUser } from './user.ts';
import { engineVerifier } from './verify.ts';
import { registerVersion } from './version.ts';

const { exitCodes } = tools;

function createProgram(deps: CliDeps): Command {
  const program = tools
    .createProgram('auditlog', 'Audit logging service', deps)
    .addHelpText('after', '\nEnvironment variables: auditlog help environment');
  registerServe(program, deps);
  registerStatus(program, deps);
  registerStop(program, deps);
  registerDemo(program, deps);
  registerInit(program, deps);
  registerOrg(program, deps);
  registerSignOn(program, deps);
  registerUser(program, deps);
  registerKey(program, deps);
  const engine = { import: importEngine(deps), export: exportEngine(deps), verify: engineVerifier(deps) };
  tools.registerTools(program, deps, engine);
  registerSummarize(program, deps);
  registerDoctor(program, deps);
  registerBackup(program, deps);
  registerRestore(program, deps);
  registerErase(program, deps);
  registerVersion(program, deps);
  registerCompletion(program, deps);
  registerEnvironment(program);
  return program;
}

/** `help environment`: too long for other help, which only names it. */
function registerEnvironment(program: Command): void {
  const command = program.command('environment', { hidden: true });
  command.helpInformation = variablesText;
  command.action(() => command.outputHelp());
}

function explain(error: unknown, args: readonly string[]): ReturnType<typeof tools.explain> {
  if (error instanceof ConfigError) return { lines: error.message, code: exitCodes.wrongUsage };
  if (error instanceof EngineError) return { lines: operatorWords(error), code: exitCodes.failed };
  const explained = tools.explain(error);
  const { would_remove: removed, would_erase: count = removed } =
    (error instanceof Problem && error.options.members) || {};
  if (typeof count !== 'number') return explained;
  return {
    ...explained,
    lines: `${explained.lines}\nto do it: ${commandWith(args, '--confirm', String(count))}`,
  };
}

/** Never rejects. */
export async function runCli(args: readonly string[], deps: CliDeps): Promise<tools.ExitCode> {
  const program = createProgram({ ...deps, args });
  return tools.runProgram(program, args, deps, (error) => explain(error, args));
}
