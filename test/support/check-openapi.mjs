import { readFile, writeFile } from 'node:fs/promises';
import { createConfig, lint } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { stringify } from 'yaml';

/**
 * Holds schema/openapi.yaml, as the file it is, against two linters: one knows the schema of OpenAPI 3.1, the other
 * has rules on references, parameters, examples and what is defined but never used. Run by `npm run check`.
 *
 * The schemas of events have files of their own, which the service validates with. The document has copies, since
 * most tools follow no reference to another file; `npm run openapi` makes them anew, and the check compares them.
 */
const file = 'schema/openapi.yaml';
const copies = {
  AuditEvent: 'schema/audit-event.schema.json',
  SourceEvent: 'schema/source-event.schema.json',
};
const begin = '    # Copies of the schema files, made by `npm run openapi`.\n';
const end = '    # End of the copies.\n';

/** @returns {Promise<string>} the copies as lines of `components.schemas` */
async function copied() {
  const schemas = await Promise.all(
    Object.entries(copies).map(async ([name, path]) => {
      const { $schema: _dialect, ...schema } = JSON.parse(await readFile(path, 'utf8'));
      return stringify({ [name]: schema }, { lineWidth: 0 });
    }),
  );
  return schemas.join('').replaceAll(/^(?=.)/gm, '    ');
}

/** @returns {Promise<string[]>} what is wrong with the document, a line each */
async function faults() {
  const { valid, errors = [] } = await new Validator().validate(file);
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      // Producers may send more than the schema names.
      'no-invalid-media-type-examples': { severity: 'error', allowAdditionalProperties: true },
      // Probes cannot fail in a way of their own; `default` says what every operation can answer.
      'operation-4xx-response': 'off',
    },
  });
  const problems = await lint({ ref: file, config });
  return [
    ...(valid ? [] : [`not OpenAPI 3.1: ${JSON.stringify(errors, null, 2)}`]),
    ...problems.map(({ ruleId, message, location: [at] }) => `${at?.pointer ?? ''}: ${message} (${ruleId})`),
  ];
}

const text = await readFile(file, 'utf8');
const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
if (from < begin.length || to < from) throw new Error(`${file} has lost the marks around the copies`);
const current = `${text.slice(0, from)}${await copied()}${text.slice(to)}`;
if (process.argv.includes('--write')) await writeFile(file, current);
else if (current !== text) {
  process.stdout.write(`${file}: a schema file has changed; run npm run openapi\n`);
  process.exitCode = 1;
}
const found = await faults();
for (const fault of found) process.stdout.write(`${file} ${fault}\n`);
if (found.length > 0) process.exitCode = 1;
