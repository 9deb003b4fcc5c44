#!/usr/bin/env node
import { readEnvironment } from './config/env.ts';
import { processDeps, runProcess } from './tools/process.ts';
import { runTools } from './tools/program.ts';

/** The entry of `auditlog-tools`. */
await runProcess(() => runTools(process.argv.slice(2), { ...processDeps, environment: readEnvironment() }));
