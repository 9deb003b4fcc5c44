import { spawnSync } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { removeDirectory, temporaryDirectory } from '../support/directories.ts';
import { projectRoot } from '../support/project-root.ts';
import { playApart } from './apart.ts';
import { limits } from './limits.ts';
import { operations } from './operations/all.ts';
import { planOf, stepsOf } from './plan.ts';
import { type PlantedFault, plantedFaults } from './planted/faults.ts';
import { planted } from './planted/plant.ts';

/**
 * npm run simulate:planted -- [NAME…] [--minutes 10] [--seed N]
 *
 * Plants one fault at a time into a copy of the sources (`planted/faults.ts`), builds it, and plays run after run until a
 * check that is about the fault fails. Prints a table of how long that took; exit code 1 where a fault was not found, or
 * has no place in the sources any more.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
  },
});
const root = fileURLToPath(projectRoot);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const sayWithin = (line: string): void => say(`  ${line}`);

/** The copy has the files of git; the packages are the original's. */
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

async function plant(copy: string, { edits }: PlantedFault): Promise<void> {
  for (const edit of edits) {
    const path = join(copy, edit.file);
    await writeFile(path, planted(await readFile(path, 'utf8'), edit));
  }
  const { status, stdout, stderr } = spawnSync('npm', ['run', '-s', 'build'], {
    cwd: copy,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the planted fault cannot be built: ${stdout}${stderr}`);
}

/** Runs with a planted fault until the right check fails; findings of other checks are printed and skipped. */
async function find(
  copy: string,
  fault: PlantedFault,
): Promise<{ check: string; seconds: number } | undefined> {
  const began = performance.now();
  const msMax = Number(values.minutes) * 60_000;
  const drawn = operations.filter(({ name }) => fault.only?.includes(name) ?? true);
  let seed = values.seed === undefined ? Math.floor(Math.random() * 1e6) : Number(values.seed);
  for (; performance.now() - began < msMax; seed++) {
    const plan = {
      ...planOf(seed, limits.roundsDefault, drawn, fault.only !== undefined),
      ...(fault.toleratesFailures && { toleratesFailures: true }),
    };
    const lines: string[] = [];
    const { failure } = await playApart(plan, {
      root: copy,
      say: (line) => lines.push(line),
      msMax: msMax - (performance.now() - began),
    });
    const seconds = Math.round((performance.now() - began) / 1000);
    say(
      `${fault.name}, seed ${seed}, ${stepsOf(plan)} steps, ${seconds} s: ${failure?.message ?? 'no failure'}`,
    );
    if (failure === undefined) continue;
    if (!fault.seenBy.includes(failure.check)) {
      lines.forEach(sayWithin);
      continue;
    }
    return { check: failure.check, seconds };
  }
  return undefined;
}

async function main(): Promise<void> {
  const chosen = plantedFaults.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const rows: string[] = [];
  for (const fault of chosen) {
    const copy = await copySources();
    await plant(copy, fault);
    const found = await find(copy, fault);
    rows.push(`| ${fault.about} | ${found ? `${found.seconds} s` : 'not found'} | ${found?.check ?? ''} |`);
    if (found === undefined) process.exitCode = 1;
    await removeDirectory(copy);
  }
  say(['| fault | found after | by the check |', '|---|---|---|', ...rows].join('\n'));
}

await main();
