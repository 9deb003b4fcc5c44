/**
 * `node serve-often.mjs ROOT '{"evidenceMs":200}' serve`: the command line of the modules below ROOT (`dist` or `src`), whose
 * service does its background work at other intervals, as nobody can wait for those it has.
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
