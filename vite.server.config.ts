import { dirname, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

const placeOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/**
 * Modules find others, and files of the project, from where they are below `root`, as compiled, not from the file they
 * end up in.
 */
function keepPlaces(root: string): Plugin {
  return {
    name: 'keep-places',
    transform(code, id) {
      if (!id.startsWith(root) || !code.includes('import.meta.url')) return null;
      const module = relative(root, id).replace(/\.ts$/, '.js');
      const place = `new URL('@root/${module}', import.meta.url).href`;
      return { code: code.replaceAll('import.meta.url', place), map: null };
    },
    renderChunk(code, { fileName }) {
      const toRoot = relative(dirname(fileName), '.') || '.';
      return { code: code.replaceAll(/(?<=new URL\(["'`])@root(?=\/)/g, toRoot), map: null };
    },
  };
}

/**
 * The programs of the service, its worker threads, and what tests start a service and commands from, of the compiled
 * modules: as few files, beside packages as they are installed. To load 450 files one by one takes a third
 * of what a command costs.
 */
const programs = [
  'command-line',
  'ingest/worker',
  'read/ocsf110/worker',
  'main',
  'cli/program',
  'cli/record-events',
  'tools/process',
];

/** With `--mode tools`, the program of packages/tools, of the sources. */
export default defineConfig(({ mode }) => {
  const isTools = mode === 'tools';
  const root = placeOf(isTools ? 'src/' : 'dist/');
  const input = isTools
    ? { tools: `${root}tools.ts` }
    : Object.fromEntries(programs.map((name) => [name, `${root}${name}.js`]));
  return {
    publicDir: false,
    plugins: [keepPlaces(root)],
    build: {
      ssr: true,
      target: 'node20',
      outDir: isTools ? placeOf('packages/tools/lib/') : root,
      emptyOutDir: false,
      minify: false,
      rolldownOptions: {
        input,
        external: (id) => !/^[./]/.test(id),
        output: { entryFileNames: '[name].js', chunkFileNames: 'programs/[name]-[hash].js' },
        checks: { bundlerTimings: false },
      },
    },
  };
});
