import { strict as assert } from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Block, blocksOf, documentText } from './markdown.ts';
import { patience } from './patience.ts';
import { projectRoot } from './project-root.ts';

/**
 * Runs the commands of pages from top to bottom in a directory like a clone, and compares the output with the
 * following block. A block of `sh` that is marked, such as `not-run: why`, is not run.
 */

const root = fileURLToPath(projectRoot);

/** Links to the whole project except its products. Data go into the directory itself. */
export function makeClone(directory: string): void {
  const own = new Set(['.git', 'data', '.env']);
  for (const name of readdirSync(root))
    if (!own.has(name)) symlinkSync(join(root, name), join(directory, name));
}

/** A page, and how to run its blocks. */
export interface Page {
  readonly path: string;
  /** Shell lines before the first block: the reader's files. */
  readonly before?: string;
  /** Replaces a block that cannot run literally. */
  readonly change?: (text: string) => string;
}

const markOf = (path: string, index: number): string => `@@ ${path}#${index}`;

/** The expected output: text or JSON directly after a block. */
function shownAfter(blocks: readonly Block[], index: number): Block | undefined {
  const next = blocks[index + 1];
  return next?.follows === true && ['', 'json'].includes(next.language) ? next : undefined;
}

/** The blocks without a mark as a script, with a line before each output. */
export function scriptOf({ path, before = '', change = (text) => text }: Page): string {
  const blocks = blocksOf(documentText(path));
  const parts = blocks.map((block, index) => {
    if (block.language !== 'sh' || block.info !== '') return '';
    // Text includes errors; JSON must parse.
    const isText = shownAfter(blocks, index)?.language === '';
    const text = isText ? `exec 3>&2 2>&1\n${change(block.text)}exec 2>&3 3>&-\n` : change(block.text);
    return `echo; echo '${markOf(path, index)}'\n${text}`;
  });
  return parts.some((part) => part !== '') ? `${before}\n${parts.join('')}` : '';
}

/** Outputs by mark. Fails with the last output if a command fails. */
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

/** The same names and values; `…` stands for differences, and the time of the answer is ignored. */
function holdShape(shown: unknown, real: unknown, path: string): void {
  assert.equal(typeof real, typeof shown, path);
  if (typeof shown === 'object' && shown !== null) {
    assert.deepEqual(Object.keys(real as object).toSorted(), Object.keys(shown).toSorted(), path);
    for (const [name, value] of Object.entries(shown))
      holdShape(value, (real as Record<string, unknown>)[name], `${path}/${name}`);
  } else if (!String(shown).includes('…') && !path.endsWith('/logged_time')) assert.equal(real, shown, path);
}

/** Ignores white space; `…` stands for anything. */
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

/** Compares outputs with the page. Returns their number. */
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
