import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { shippedPackages } from './shipped-packages.mjs';

/**
 * Prints a CycloneDX 1.5 bill of materials for an installation on any system; `npm run sbom`. npm makes it
 * from package-lock.json. Its `--omit=dev` also omits packages that development shares (ajv, pino), so
 * unshipped ones are removed here.
 */
const { stdout } = await promisify(execFile)(
  'npm',
  ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'],
  { maxBuffer: 64 * 1024 * 1024 },
);
const bill = JSON.parse(stdout);
const shipped = new Set((await shippedPackages()).map(({ name, version }) => `${name}@${version}`));
const components = bill.components.filter((component) => shipped.has(component['bom-ref']));
const references = new Set([...components.map((one) => one['bom-ref']), bill.metadata.component['bom-ref']]);
const dependencies = bill.dependencies
  .filter(({ ref }) => references.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => references.has(one)) }));
bill.metadata.component.name = 'auditlog';
process.stdout.write(`${JSON.stringify({ ...bill, components, dependencies }, undefined, 2)}\n`);
