import { Argument, type Command } from 'commander';
import type { ToolDeps } from './context.ts';

/** A command with the words that lead to it, such as `auditlog org create`. */
interface Known {
  readonly path: string;
  readonly command: Command;
}

function* commandsOf(command: Command, path = command.name()): Generator<Known> {
  yield { path, command };
  for (const child of command.commands) yield* commandsOf(child, `${path} ${child.name()}`);
}

function wordsOf({ commands, options }: Command): string {
  const flags = options.filter((one) => !one.hidden).flatMap(({ short, long }) => [short, long]);
  return [...commands.map((one) => one.name()), ...flags, '--help']
    .filter((word) => word !== undefined)
    .join(' ');
}

/** `_auditlog_tools`: names of functions have no hyphens. */
const functionOf = (root: Command): string => `_${root.name().replaceAll('-', '_')}`;

/** Finds the command that the words so far lead to, and offers what it knows; else files. */
function shellFunction(root: Command, words: string, offer: (words: string) => string): string {
  const known = [...commandsOf(root)];
  const paths = known.map(({ path }) => `'${path}'`).join('|');
  const cases = known.map(({ path, command }) => `    '${path}') ${offer(wordsOf(command))} ;;`);
  return `${functionOf(root)}() {
  local at=${root.name()} word
  for word in ${words}; do
    case "$at $word" in
      ${paths}) at="$at $word" ;;
    esac
  done
  case "$at" in
${cases.join('\n')}
  esac
}`;
}

function bash(root: Command): string {
  const before = '"${COMP_WORDS[@]:1:COMP_CWORD-1}"';
  const offer = (words: string): string =>
    `COMPREPLY=($(compgen -W '${words}' -- "\${COMP_WORDS[COMP_CWORD]}"))`;
  return `${shellFunction(root, before, offer)}\ncomplete -o default -F ${functionOf(root)} ${root.name()}`;
}

function zsh(root: Command): string {
  const body = shellFunction(root, '"${words[2,CURRENT-1][@]}"', (words) => `compadd -- ${words} || _files`);
  return `#compdef ${root.name()}\n${body}\ncompdef ${functionOf(root)} ${root.name()}`;
}

function fish(root: Command): string {
  const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const lines = [...commandsOf(root)].flatMap(({ path, command }) => {
    const [, ...words] = path.split(' ');
    const children = command.commands.map((one) => one.name());
    const conditions = words.map((word) => `__fish_seen_subcommand_from ${word}`);
    if (children.length > 0) conditions.push(`not __fish_seen_subcommand_from ${children.join(' ')}`);
    const begin = `complete -c ${root.name()} -n '${conditions.join('; and ')}'`;
    return [
      ...command.commands.map((one) => `${begin} -f -a ${one.name()} -d ${quoted(one.description())}`),
      ...command.options
        .filter((one) => !one.hidden)
        .map(
          ({ long = '', required, description }) =>
            `${begin} -l ${long?.slice(2)} ${required ? '-r ' : ''}-d ${quoted(description)}`,
        ),
    ];
  });
  return lines.join('\n');
}

const shells = { bash, zsh, fish };

/** `completion` (contract: Command line): a script that teaches a shell the commands and their options. */
export function registerCompletion(program: Command, deps: ToolDeps): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>').choices(Object.keys(shells)))
    .addHelpText('after', `\nFor bash: source <(${program.name()} completion bash), in ~/.bashrc.`)
    .action((shell: keyof typeof shells) => deps.io.out(`${shells[shell](program)}\n`));
}
