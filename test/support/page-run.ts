import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cliCommand } from './cli-command.ts';
import { type Block, blocksOf, documentText } from './markdown.ts';
import { patience } from './patience.ts';
import { projectRoot } from './project-root.ts';

/**
 * Runs what pages tell readers to type, from top to bottom, in what looks like a clone of the project, and holds the
 * output to the block that follows. How a block of `sh` is marked says whether it is run: not at all, `demo` (beside the
 * demo), `not-run: why`.
 */

const root = fileURLToPath(projectRoot);

/** The command line as a process of its own. */
export const cliWords = ['node', ...cliCommand]
  .map((part) => (part.includes('/') && !part.startsWith('file:') ? resolve(root, part) : part))
  .join(' ');

/** Links to all of the project but what is made in it. Data go into the directory itself. */
export function makeClone(directory: string): void {
  const own = new Set(['.git', 'data', '.env']);
  for (const name of readdirSync(root))
    if (!own.has(name)) symlinkSync(join(root, name), join(directory, name));
}

/** A page with how its blocks are run. */
export interface Page {
  readonly path: string;
  /** Lines of a shell before the first block: the files that a reader has. */
  readonly before?: string;
  /** A block's own text, where it cannot be run word for word. */
  readonly change?: (text: string) => string;
}

const markOf = (path: string, index: number): string => `@@ ${path}#${index}`;

/** What the page prints beside a block: the text or JSON that comes right after it. */
function shownAfter(blocks: readonly Block[], index: number): Block | undefined {
  const next = blocks[index + 1];
  return next?.follows === true && ['', 'json'].includes(next.language) ? next : undefined;
}

/** The blocks of a page with this mark, as lines of a shell, with a line before the output of each. */
export function scriptOf({ path, before = '', change = (text) => text }: Page, info = ''): string {
  const blocks = blocksOf(documentText(path));
  const parts = blocks.map((block, index) => {
    if (block.language !== 'sh' || block.info !== info) return '';
    // What is printed as text are errors, too; JSON is to be read.
    const isText = shownAfter(blocks, index)?.language === '';
    const text = isText ? `exec 3>&2 2>&1\n${change(block.text)}exec 2>&3 3>&-\n` : change(block.text);
    return `echo; echo '${markOf(path, index)}'\n${text}`;
  });
  return parts.some((part) => part !== '') ? `${before}\n${parts.join('')}` : '';
}

/** Outputs by mark. Fails with what was said last where a command does. */
export async function runScript(
  script: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<string, string>> {
  const outputFile = join(cwd, 'shell.out');
  const errorFile = join(cwd, 'shell.err');
  const shell = spawn('bash', ['-c', `set -e\n${script}`], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: cwd, ...env },
    timeout: patience(300_000),
    stdio: ['ignore', openSync(outputFile, 'a'), openSync(errorFile, 'a')],
  });
  const [code, signal] = (await once(shell, 'exit')) as [number | null, string | null];
  const output = readFileSync(outputFile, 'utf8');
  const errors = readFileSync(errorFile, 'utf8');
  const parts = output.split(/^(@@ \S+)$/m);
  assert.equal(
    code,
    0,
    `${parts.at(-2)} ended by ${code ?? signal}: ${parts.at(-1)}\n${errors.slice(-2000)}`,
  );
  return new Map(
    parts.flatMap((part, at) => (at % 2 === 1 ? [[part, (parts[at + 1] ?? '').trim()] as const] : [])),
  );
}

/** The same names and values; `…` stands for what differs, and so does the moment of the answer. */
function holdShape(shown: unknown, real: unknown, path: string): void {
  assert.equal(typeof real, typeof shown, path);
  if (typeof shown === 'object' && shown !== null) {
    assert.deepEqual(Object.keys(real as object).toSorted(), Object.keys(shown).toSorted(), path);
    for (const [name, value] of Object.entries(shown))
      holdShape(value, (real as Record<string, unknown>)[name], `${path}/${name}`);
  } else if (!String(shown).includes('…') && !path.endsWith('/logged_time')) assert.equal(real, shown, path);
}

/** White space is the page's own; `…` stands for anything. */
function holdText(shown: string, real: string, path: string): void {
  const plain = (text: string): string => text.replaceAll(/\s+/g, '');
  const pieces = plain(shown).split('…').map(escaped);
  assert.match(plain(real), new RegExp(`^${pieces.join('[^]*?')}$`), path);
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Compares outputs with what the page prints beside the commands. Returns how many there were. */
export function holdOutputs(path: string, outputs: ReadonlyMap<string, string>): number {
  const blocks = blocksOf(documentText(path));
  let compared = 0;
  for (const index of blocks.keys()) {
    const shown = shownAfter(blocks, index);
    const real = outputs.get(markOf(path, index));
    if (shown === undefined || real === undefined) continue;
    const name = `${path}, block ${index + 1}`;
    if (isJson(shown.text)) holdShape(JSON.parse(shown.text), JSON.parse(real), name);
    else holdText(shown.text, real, name);
    compared += 1;
  }
  return compared;
}
