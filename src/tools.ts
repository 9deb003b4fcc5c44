#!/usr/bin/env node
import { readEnvironment } from './config/env.ts';
import { processDeps, runProcess } from './tools/process.ts';
import { runTools } from './tools/program.ts';

/** The entry of `auditlog-tools`: the commands that need neither engine nor server of their own. */
await runProcess(() => runTools(process.argv.slice(2), { ...processDeps, environment: readEnvironment() }));
