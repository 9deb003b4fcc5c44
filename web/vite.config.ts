import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';
import { words } from './ui/words.ts';

const folder = fileURLToPath(new URL('../dist/web', import.meta.url));

/** Older browsers lack popover panels positioned beside their buttons. */
const browsers = ['chrome125', 'safari26', 'firefox147'];

/** Below this size compression saves no packet. */
const compressBytesMin = 1024;

/** Compresses at build time, so that the server only sends the files. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    async writeBundle(_, bundle) {
      for (const name of Object.keys(bundle)) {
        const bytes = await readFile(join(folder, name));
        if (bytes.length < compressBytesMin) continue;
        const params = {
          [constants.BROTLI_PARAM_QUALITY]: 11,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        };
        await writeFile(join(folder, `${name}.br`), brotliCompressSync(bytes, { params }));
        await writeFile(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

/** Code that several views share, but for that which the first rows do not need. */
const isShared = /\/(?:web\/api|web\/ui\/(?!json-|list|page|secret)|node_modules)\/?/;

/** `words.ts?en` and `words.ts?de`: one language each, as a browser needs no other. */
function textsByLanguage(): Plugin {
  return {
    name: 'texts-by-language',
    load(id) {
      const at = ['words.ts?en', 'words.ts?de'].findIndex((one) => id.endsWith(one));
      if (at < 0) return undefined;
      const texts = Object.entries(words).map(([key, both]) => [key, both[at]]);
      return `export default ${JSON.stringify(Object.fromEntries(texts))}`;
    },
  };
}

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  publicDir: false,
  build: {
    outDir: folder,
    emptyOutDir: true,
    target: browsers,
    // The Content-Security-Policy refuses data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // A busy machine is no warning for the user.
    rolldownOptions: {
      checks: { bundlerTimings: false },
      // Code shared by views is one file; separate files were nine requests, most of a few hundred bytes.
      output: {
        codeSplitting: {
          groups: [{ name: 'shared', test: isShared, minShareCount: 2 }],
        },
      },
    },
  },
  plugins: [textsByLanguage(), precompress()],
});
