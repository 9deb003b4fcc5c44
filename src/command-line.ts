import { runCli } from './cli/program.ts';
import { readEnvironment } from './config/env.ts';
import { eventHead, eventTail } from './ocsf/envelope.ts';
import { processDeps, runProcess } from './tools/process.ts';

await runProcess(() =>
  runCli(process.argv.slice(2), {
    ...processDeps,
    environment: readEnvironment(),
    // Loaded when there is something to record: listing keys need not wait for the schema compiler.
    recordEvents: async (on, events) => (await import('./cli/record-events.ts')).recordEvents(on, events),
    eventEnvelope: (config) => ({ head: eventHead, tail: eventTail(config) }),
    startService: async (config, parts) => (await import('./main.ts')).startService(config, parts),
  }),
);
