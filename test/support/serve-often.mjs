/**
 * `node serve-often.mjs ROOT '{"evidenceMs":200}' serve`: the command line below ROOT (`dist` or `src`) with
 * other intervals of background work.
 */
const [, , root = '', intervals = '{}', ...args] = process.argv;
const module = (path) => import(new URL(`${path}${root.endsWith('/src/') ? '.ts' : '.js'}`, root).href);
const { processDeps, runProcess } = await module('tools/process');
const { runCli } = await module('cli/program');
const { startService } = await module('main');

const unused = () => {
  throw new Error('this program serves');
};
await runProcess(() =>
  runCli(args, {
    ...processDeps,
    environment: process.env,
    recordEvents: unused,
    eventEnvelope: unused,
    startService: (config, outputs) => startService(config, outputs, JSON.parse(intervals)),
  }),
);
