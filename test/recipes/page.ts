import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The block of a page of `docs` that is marked with this name: what is tested is what the page says. */
export function blockOf(page: string, name: string): string {
  const path = fileURLToPath(new URL(`../../docs/${page}`, import.meta.url));
  const found = blocksOf(readFileSync(path, 'utf8')).filter((block) => block.name === name);
  assert.equal(found.length, 1, `${page} has one block ${name}`);
  return found[0]?.text ?? '';
}

export interface Block {
  readonly language: string;
  /** Empty where the block has none. */
  readonly name: string;
  readonly text: string;
}

/** The blocks of code in Markdown: ```` ```language name ````. */
export function blocksOf(markdown: string): Block[] {
  return Array.from(markdown.matchAll(/^```(\w+) ?(\S*)\n([^]*?)^```$/gm), ([, language, name, text]) => ({
    language: language ?? '',
    name: name ?? '',
    text: text ?? '',
  }));
}

/** The text with all of these replaced; each must be in it. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  let filled = text;
  for (const [from, to] of Object.entries(values)) {
    assert.ok(filled.includes(from), `the block has ${from}`);
    filled = filled.replaceAll(from, to);
  }
  return filled;
}
