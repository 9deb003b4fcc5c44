import { strict as assert } from 'node:assert';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';
import { runCli } from '../../src/cli/program.ts';
import type { CliDeps } from '../../src/cli/context.ts';
import { blocksOf, documentText, pages } from '../support/markdown.ts';
import { projectRoot } from '../support/project-root.ts';

/** Checks commands in documents without running them; `test/e2e/pages.slow.test.ts` runs them. */

const blocks = pages('with recipes').flatMap((path) =>
  blocksOf(documentText(path)).map((block) => ({ path, ...block })),
);
const shellBlocks = blocks.filter(({ language }) => language === 'sh');

/** Words that each command accepts, by the preceding words, such as `auditlog key create`. */
async function knownWords(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  let script = '';
  const deps = { environment: {}, io: { out: (text: string) => (script += text) } };
  assert.equal(await runCli(['completion', 'bash'], deps as unknown as CliDeps), 0);
  // Values of options come before.
  const offers = script.slice(script.indexOf('  case "$at" in\n'));
  const cases = offers.matchAll(/^ {4}'([^']+)'\) COMPREPLY=\(\$\(compgen -W '([^']*)'/gm);
  return new Map(Array.from(cases, ([, path = '', words = '']) => [path, new Set(words.split(' '))]));
}

const start =
  /(?:npx auditlog|npm run -s auditlog --|node dist\/cli\.js|^auditlog|[|(;&] ?auditlog|^forward)(?= )/gm;

/** Our command lines in a shell text, from the name on, without comments and pipes. */
function commandsIn(text: string): string[] {
  const lines = text.replaceAll(/\\\n\s*/g, ' ').replaceAll(/ #.*$/gm, '');
  return Array.from(lines.matchAll(start), (found) => {
    const rest = lines.slice(found.index + found[0].length).split(/[\n|;&>]/, 1)[0] ?? '';
    return `auditlog${found[0] === 'forward' ? ' forward' : ''}${rest}`;
  });
}

describe('commands in documents', () => {
  test('each block of a shell is run, or has a reason', () => {
    for (const { path, language, info, text } of blocks) {
      assert.ok(!['console', 'bash', 'shell'].includes(language), `${path}: ${language} is written sh`);
      if (language !== 'sh' || path.startsWith('docs/recipes/')) continue;
      assert.match(info, /^(demo|not-run: .{10,})?$/, `${path}: ${text}`);
      for (const [file] of info.matchAll(/test\/[\w./-]+/g))
        assert.ok(existsSync(new URL(file, projectRoot)), `${path}: there is no ${file}`);
    }
  });

  test('each block is what a shell can read', () => {
    for (const { path, text } of shellBlocks) {
      const { stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' });
      assert.equal(stderr, '', `${path}:\n${text}`);
    }
  });

  test('commands and options are those of the program', async () => {
    const known = await knownWords();
    let seen = 0;
    for (const { path, text } of shellBlocks)
      for (const command of commandsIn(text)) {
        let at = 'auditlog';
        for (const word of command.split(/\s+/).slice(1)) {
          if (known.has(`${at} ${word}`)) at = `${at} ${word}`;
          const [option = ''] = word.split('=');
          if (/^--[a-z]/.test(word)) assert.ok(known.get(at)?.has(option), `${path}: ${at} has no ${option}`);
        }
        assert.ok(at !== 'auditlog' || command.includes('--version'), `${path}: no command in ${command}`);
        seen += 1;
      }
    assert.ok(seen > 30, `${seen}`);
  });

  test('scripts that documents name are there', () => {
    const { scripts } = JSON.parse(documentText('package.json')) as { scripts: object };
    for (const path of [...pages('with recipes'), 'CONTRIBUTING.md', 'bench/README.md']) {
      const named = documentText(path).matchAll(/npm (?:run (?:-s )?([a-z][\w:]*)|(start|test)\b)/g);
      for (const [all, script, own] of named) assert.ok((script ?? own ?? '') in scripts, `${path}: ${all}`);
    }
  });

  test('the options of the bench that documents name are in its help', () => {
    const args = ['--import', 'tsx', 'bench/run.ts', '--help'];
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: projectRoot, encoding: 'utf8' });
    assert.equal(status, 0);
    for (const path of [...pages('with recipes'), 'CONTRIBUTING.md', 'bench/README.md', 'bench/notes.md'])
      for (const [line] of documentText(path).matchAll(/npm run bench -- [^`#\n]+/g))
        for (const [option] of line.matchAll(/--[a-z-]+/g))
          assert.ok(stdout.includes(`  ${option} `), `${path}: ${line}`);
  });
});
