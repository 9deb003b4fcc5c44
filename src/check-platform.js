// @ts-check
/** Run by the scripts of package.json before anything is loaded or built: ends with 2 where the service cannot run. */
import { frontEnd } from './base/platform.js';

if (frontEnd.refusal !== undefined) {
  process.stderr.write(`auditlog: ${frontEnd.refusal}\n`);
  process.exitCode = 2;
}
