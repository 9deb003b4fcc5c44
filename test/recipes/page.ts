import assert from 'node:assert/strict';
import { blocksOf, documentText } from '../support/markdown.ts';

/** The block with this name in a page of `docs`: tests use the page's own text. */
export function blockOf(page: string, name: string): string {
  const found = blocksOf(documentText(`docs/${page}`)).filter((block) => block.info === name);
  assert.equal(found.length, 1, `${page} has one block ${name}`);
  return found[0]?.text ?? '';
}

/** Replaces all of these; each must occur. */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  let filled = text;
  for (const [from, to] of Object.entries(values)) {
    assert.ok(filled.includes(from), `the block has ${from}`);
    filled = filled.replaceAll(from, to);
  }
  return filled;
}
