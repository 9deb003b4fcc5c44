#!/usr/bin/env node
/**
 * The entry of the command line. It looks at the Node release and the C library before it loads anything else: what
 * follows does not parse, or crashes in a native module, where it was not made for them. So nothing but that check may
 * be imported statically, and no syntax stand here that an old release does not know.
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
