import { spawn, spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { projectRoot } from '../support/project-root.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';

/**
 * npm run simulate:planted -- [NAME…] [--minutes 10] [--seed N]
 *
 * Plants one fault at a time into a copy of the sources (`planted/NAME.patch`), builds it, and plays until something is
 * found. Prints a table of how long that took; exit code 1 where a fault was not found.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' } },
});
const root = fileURLToPath(projectRoot);
const patches = join(root, 'test/simulator/planted');
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** The copy has what git knows; the packages are those of the original. */
async function copySources(): Promise<string> {
  const copy = await temporaryDirectory();
  const { stdout } = spawnSync('git', ['ls-files', '-z'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  for (const file of stdout.split('\0').filter((name) => name !== ''))
    cpSync(join(root, file), join(copy, file));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

function must(program: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stdout}${stderr}`);
}

interface Played {
  readonly code: number | null;
  readonly seconds: number;
  readonly said: string;
}

/** The first line of a patch may name arguments of the run: `# simulate: --only …`. */
function argumentsOf(name: string): string[] {
  const [, said = ''] =
    /^# simulate: (.*)$/m.exec(readFileSync(join(patches, `${name}.patch`), 'utf8')) ?? [];
  return [...said.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

function play(copy: string, name: string): Promise<Played> {
  const seed = values.seed === undefined ? [] : ['--seed', values.seed];
  const args = ['--import', 'tsx', 'test/simulator/run.ts', '--no-shrink', '--minutes', values.minutes];
  const began = performance.now();
  const child = spawn(process.execPath, [...args, ...seed, ...argumentsOf(name)], {
    cwd: copy,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  return new Promise((resolve) =>
    child.once('close', (code) =>
      resolve({ code, seconds: Math.round((performance.now() - began) / 1000), said }),
    ),
  );
}

async function main(): Promise<void> {
  const all = readdirSync(patches)
    .filter((file) => file.endsWith('.patch'))
    .map((file) => file.slice(0, -'.patch'.length))
    .toSorted();
  const rows: string[] = [];
  for (const name of positionals.length > 0 ? positionals : all) {
    const copy = await copySources();
    must('git', ['apply', '--recount', join(patches, `${name}.patch`)], copy);
    must('npm', ['run', '-s', 'build'], copy);
    const { code, seconds, said } = await play(copy, name);
    const [, finding = ''] = /^FAILED.*\n(.*?:)/m.exec(said) ?? [];
    rows.push(`| ${name} | ${code === 1 ? `${seconds} s` : 'not found'} | ${finding.replace(/:$/, '')} |`);
    say(rows.at(-1) ?? '');
    if (code !== 1) process.exitCode = 1;
    await removeDirectory(copy);
  }
  say(['| fault | found after | by the check |', '|---|---|---|', ...rows].join('\n'));
}

await main();
