import { spawn, spawnSync } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { projectRoot } from '../support/project-root.ts';
import { type PlantedFault, plantedFaults } from './planted/faults.ts';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';

/**
 * npm run simulate:planted -- [NAME…] [--minutes 10] [--seed N] [--without OPERATION]…
 *
 * Plants one fault at a time into a copy of the sources (`planted/faults.ts`), builds it, and plays until something is
 * found. Prints a table of how long that took; exit code 1 where a fault was not found, or has no place in the sources any more.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    without: { type: 'string', multiple: true, default: [] },
  },
});
const shownCharactersMax = 4000;
const root = fileURLToPath(projectRoot);
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

async function plant(copy: string, { name, edits }: PlantedFault): Promise<void> {
  for (const { file, find, put } of edits) {
    const path = join(copy, file);
    const text = await readFile(path, 'utf8');
    if (text.split(find).length !== 2) throw new Error(`${name}: ${file} does not have this once: ${find}`);
    await writeFile(
      path,
      text.replace(find, () => put),
    );
  }
}

function play(copy: string, { run = [] }: PlantedFault): Promise<Played> {
  const seed = values.seed === undefined ? [] : ['--seed', values.seed];
  const args = ['--import', 'tsx', 'test/simulator/run.ts', '--no-shrink', '--minutes', values.minutes];
  const without = values.without.flatMap((name) => ['--without', name]);
  const began = performance.now();
  const child = spawn(process.execPath, [...args, ...seed, ...without, ...run], {
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
  const chosen = plantedFaults.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const rows: string[] = [];
  for (const fault of chosen) {
    const copy = await copySources();
    await plant(copy, fault);
    must('npm', ['run', '-s', 'build'], copy);
    const { code, seconds, said } = await play(copy, fault);
    const [, check = 'nothing'] = /^FAILED.*\n(.*?):/m.exec(said) ?? [];
    const isFound = code === 1 && fault.seenBy.includes(check);
    rows.push(`| ${fault.about} | ${isFound ? `${seconds} s` : 'not found'} | ${check} |`);
    say(rows.at(-1) ?? '');
    if (!isFound) {
      say(said.slice(-shownCharactersMax));
      process.exitCode = 1;
    }
    await removeDirectory(copy);
  }
  say(['| fault | found after | by the check |', '|---|---|---|', ...rows].join('\n'));
}

await main();
