import { Argument, type Command, type Option } from 'commander';
import type { ToolDeps } from './context.ts';
import { valuesOf } from './option.ts';

interface Known {
  readonly path: string;
  readonly command: Command;
}

function* commandsOf(command: Command, path = command.name()): Generator<Known> {
  yield { path, command };
  for (const child of command.commands) yield* commandsOf(child, `${path} ${child.name()}`);
}

const visible = ({ options }: Command): readonly Option[] => options.filter((one) => !one.hidden);

const argumentValues = ({ registeredArguments }: Command): readonly string[] =>
  registeredArguments.flatMap(({ argChoices = [] }) => argChoices);

function wordsOf(command: Command): string {
  const flags = visible(command).flatMap(({ short, long }) => [short, long]);
  return [...command.commands.map((one) => one.name()), ...argumentValues(command), ...flags, '--help']
    .filter((word) => word !== undefined)
    .join(' ');
}

/** `_auditlog_tools`: function names have no hyphens. */
const functionName = (root: Command): string => `_${root.name().replaceAll('-', '_')}`;

/** Syntax of a shell. No words: a file, or any text. */
interface Syntax {
  readonly before: string;
  readonly last: string;
  readonly npx: string;
  readonly offer: (words: string) => string;
  readonly files: string;
}

const optionPattern = (path: string, { short, long }: Option): string =>
  [short, long].flatMap((flag) => (flag === undefined ? [] : [`'${path} ${flag}'`])).join('|');

/**
 * Offers the values of the option before the cursor, otherwise the words of the current command. Also serves
 * `npx auditlog …`.
 */
function shellFunction(root: Command, syntax: Syntax): string {
  const { before, last, npx, offer, files } = syntax;
  const known = [...commandsOf(root)];
  const paths = known.map(({ path }) => `'${path}'`).join('|');
  const cases = known.map(({ path, command }) => `    '${path}') ${offer(wordsOf(command))} ;;`);
  const values = known.flatMap(({ path, command }) =>
    visible(command)
      .filter(({ required }) => required)
      .map((one) => {
        const offered = valuesOf(one).join(' ');
        return `    ${optionPattern(path, one)}) ${offered === '' ? files : offer(offered)}; return ;;`;
      }),
  );
  return `${functionName(root)}() {
  local at=${root.name()} word
  ${npx}
  for word in ${before}; do
    case "$at $word" in
      ${paths}) at="$at $word" ;;
    esac
  done
  case "$at ${last}" in
${values.join('\n')}
  esac
  case "$at" in
${cases.join('\n')}
  esac
}`;
}

function bash(root: Command): string {
  const name = root.name();
  const offer = (words: string): string =>
    `COMPREPLY=($(compgen -W '${words}' -- "\${COMP_WORDS[COMP_CWORD]}"))`;
  const body = shellFunction(root, {
    before: '"${COMP_WORDS[@]:1:COMP_CWORD-1}"',
    last: '${COMP_WORDS[COMP_CWORD-1]}',
    npx: `if [[ \${COMP_WORDS[0]} == npx && \${COMP_WORDS[1]} != ${name} ]]; then return; fi`,
    offer,
    files: 'COMPREPLY=()',
  });
  return `${body}\ncomplete -o default -F ${functionName(root)} ${name} npx`;
}

function zsh(root: Command): string {
  const name = root.name();
  const body = shellFunction(root, {
    before: '"${words[2,CURRENT-1][@]}"',
    last: '${words[CURRENT-1]}',
    npx: `if [[ \${words[1]} == npx && \${words[2]} != ${name} ]]; then _files; return; fi`,
    offer: (words) => `compadd -- ${words} || _files`,
    files: '_files',
  });
  return `#compdef ${name} npx\n${body}\ncompdef ${functionName(root)} ${name} npx`;
}

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;

function fishOption(begin: string, option: Option): string {
  const { long, short, required, description } = option;
  const values = valuesOf(option).join(' ');
  const value = values === '' ? '-r ' : `-x -a ${quoted(values)} `;
  const names = [
    ...(long === undefined ? [] : [`-l ${long.slice(2)}`]),
    ...(short === undefined ? [] : [`-s ${short.slice(1)}`]),
  ];
  return `${begin} ${names.join(' ')} ${required ? value : ''}-d ${quoted(description)}`;
}

function fish(root: Command): string {
  const name = root.name();
  const linesFor = (program: string, first: readonly string[]): string[] =>
    [...commandsOf(root)].flatMap(({ path, command }) => {
      const [, ...words] = path.split(' ');
      const children = command.commands.map((one) => one.name());
      const conditions = [...first, ...words].map((word) => `__fish_seen_subcommand_from ${word}`);
      if (children.length > 0) conditions.push(`not __fish_seen_subcommand_from ${children.join(' ')}`);
      const begin = `complete -c ${program} -n '${conditions.join('; and ')}'`;
      return [
        ...command.commands.map((one) => `${begin} -f -a ${one.name()} -d ${quoted(one.description())}`),
        ...argumentValues(command).map((one) => `${begin} -f -a ${one}`),
        ...visible(command).map((one) => fishOption(begin, one)),
      ];
    });
  return [...linesFor(name, []), ...linesFor('npx', [name])].join('\n');
}

const shells = { bash, zsh, fish };

export function registerCompletion(program: Command, deps: ToolDeps): void {
  const name = program.name();
  program
    .command('completion')
    .description('print a script that completes commands, options and values in a shell')
    .addArgument(new Argument('<shell>').choices(Object.keys(shells)))
    .addHelpText('after', `\nFor bash: source <(npx ${name} completion bash), in ~/.bashrc.`)
    .action((shell: keyof typeof shells) => deps.io.out(`${shells[shell](program)}\n`));
}
