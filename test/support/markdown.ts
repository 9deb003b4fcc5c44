import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { projectRoot } from './project-root.ts';

/** Documents as tests read them. */

export interface Block {
  readonly language: string;
  /** The words after the language: a configuration's name, or how a block of `sh` is tested. */
  readonly info: string;
  readonly text: string;
  /** The block follows the previous one directly. */
  readonly follows: boolean;
}

/** The blocks of code in Markdown: ```` ```language info ````. */
export function blocksOf(markdown: string): Block[] {
  let end = -1;
  return Array.from(markdown.matchAll(/^```(\w*) ?(.*)\n([^]*?)^```$/gm), (found) => {
    const [all, language = '', info = '', text = ''] = found;
    const follows = end >= 0 && markdown.slice(end, found.index).trim() === '';
    end = found.index + all.length;
    return { language, info, text, follows };
  });
}

export function documentText(path: string): string {
  return readFileSync(fileURLToPath(new URL(path, projectRoot)), 'utf8');
}

/** README.md, then the pages of `docs` by name; with `recipes` also those below. */
export function pages(recipes?: 'with recipes'): string[] {
  const folders = recipes !== undefined ? ['docs/', 'docs/recipes/'] : ['docs/'];
  const found = folders.flatMap((folder) =>
    readdirSync(new URL(folder, projectRoot))
      .filter((name) => name.endsWith('.md'))
      .map((name) => folder + name)
      .toSorted(),
  );
  return ['README.md', ...found];
}
