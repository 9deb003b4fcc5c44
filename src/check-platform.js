// @ts-check
/** Run by the scripts of package.json before anything is loaded or built: ends with 2 where the service cannot run. */
import { httpPackage } from './base/platform.js';

if (httpPackage.refusal !== undefined) {
  process.stderr.write(`auditlog: ${httpPackage.refusal}\n`);
  process.exitCode = 2;
}
