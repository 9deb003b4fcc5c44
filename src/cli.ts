#!/usr/bin/env node
/**
 * The entry of the command line. It checks the Node release and the C library before it loads anything else. So import only
 * that check statically, and use no newer syntax.
 */
import { httpPackage } from './base/platform.js';

if (httpPackage.refusal === undefined) {
  import('./command-line.ts').catch((error: unknown) => {
    process.stderr.write(`auditlog: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
} else {
  process.stderr.write(`auditlog: ${httpPackage.refusal}\n`);
  process.exitCode = 2;
}
