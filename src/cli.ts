#!/usr/bin/env node
/**
 * The entry of the command line. It looks at the Node release before it loads anything else: what follows does not
 * parse, or crashes in a native module, on a release that it was not made for. So no static import may stand here,
 * and no syntax that an old release does not know.
 */
const release = /^v(\d+)\.(\d+)/.exec(process.version);
const major = Number(release && release[1]);
const minor = Number(release && release[2]);

// The same as `engines` in package.json.
if ((major === 20 && minor >= 19) || major === 21 || major === 22) {
  import('./command-line.ts').catch((error: unknown) => {
    process.stderr.write(`auditlog: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
} else {
  process.stderr.write(
    `auditlog: Node.js ${process.version} is not supported: install a release from 20.19 to 22\n`,
  );
  process.exitCode = 2;
}
