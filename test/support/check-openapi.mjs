import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createConfig, lint } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { parse, stringify } from 'yaml';
import { filterNames, listWays, optionalFilterNames } from '../../src/base/events/event-filters.ts';
import { parameterTypes, schemaTypes } from './openapi-types.mjs';

/**
 * Checks schema/openapi.yaml with two linters: one knows the schema of OpenAPI 3.1, the other references, parameters, examples
 * and unused definitions. Run by `npm run check`.
 *
 * Event schemas have their own files, which the service validates with; the document has copies, because most tools follow no
 * reference to another file. `npm run openapi` makes these copies, openapi.json for the service, openapi.d.ts, and from
 * commands.yaml the files commands.json and commands.d.ts; the check compares them. Parameters that the sources read must be
 * in the document, and filters (src/base/events/event-filters.ts) also in the contract.
 */
const file = 'schema/openapi.yaml';
const jsonFile = 'schema/openapi.json';
const typesFile = 'schema/openapi.d.ts';
const commandsFile = 'schema/commands.yaml';
const copies = {
  AuditEvent: 'schema/audit-event.schema.json',
  SourceEvent: 'schema/source-event.schema.json',
};
const begin = '    # Copies of the schema files, made by `npm run openapi`.\n';
const end = '    # End of the copies.\n';

/** @returns {Promise<string>} lines of `components.schemas` */
async function copied() {
  const schemas = await Promise.all(
    Object.entries(copies).map(async ([name, path]) => {
      const { $schema: _dialect, ...schema } = JSON.parse(await readFile(path, 'utf8'));
      return stringify({ [name]: schema }, { lineWidth: 0 });
    }),
  );
  return schemas.join('').replaceAll(/^(?=.)/gm, '    ');
}

/** @returns {Promise<string[]>} faults, one a line */
async function faults() {
  const { valid, errors = [] } = await new Validator().validate(file);
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      // Producers may send more members.
      'no-invalid-media-type-examples': { severity: 'error', allowAdditionalProperties: true },
      // Probes have no specific errors; `default` covers every operation.
      'operation-4xx-response': 'off',
    },
  });
  const problems = await lint({ ref: file, config });
  return [
    ...(valid ? [] : [`not OpenAPI 3.1: ${JSON.stringify(errors, null, 2)}`]),
    ...problems.map(({ ruleId, message, location: [at] }) => `${at?.pointer ?? ''}: ${message} (${ruleId})`),
  ];
}

/** @typedef {{ $ref?: string, name: string, in: string, description?: string, schema: import('./openapi-types.mjs').Schema }} Parameter */

/**
 * @param {{ paths: Record<string, Record<string, { parameters?: Parameter[] }>>, components: { parameters: Record<string, Parameter> } }} document
 * @returns {{ at: string, parameters: Parameter[] }[]} the query parameters of each operation
 */
function queryParameters({ paths, components }) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [] }]) => ({
      at: `${method} ${path}`,
      parameters: parameters
        .map((one) => components.parameters[one.$ref?.slice(one.$ref.lastIndexOf('/') + 1) ?? ''] ?? one)
        .filter((one) => one.in === 'query'),
    })),
  );
}

/** @returns {Promise<string[]>} names of query parameters that the sources read by name */
async function namesRead() {
  const names = new Set();
  for (const folder of ['src/http', 'src/read'])
    for (const path of await readdir(folder, { recursive: true })) {
      if (!path.endsWith('.ts')) continue;
      const source = await readFile(`${folder}/${path}`, 'utf8');
      for (const [, name] of source.matchAll(/(?:parameters\.(?:text|read)|context\.first)\(\s*'([^']+)'/g))
        names.add(name);
    }
  return [...names];
}

/** @param {Parameters<typeof queryParameters>[0] & { components: { schemas: Record<string, object> } }} document @returns {Promise<string[]>} */
async function parameterFaults(document) {
  const operations = queryParameters(document);
  const known = new Set(operations.flatMap(({ parameters }) => parameters.map(({ name }) => name)));
  const lists = [
    ...[...filterNames, 'orgId'].flatMap((name) => listWays.map((way) => `${name}.${way}`)),
    ...optionalFilterNames.map((name) => `${name}.is`),
  ];
  const listed = Object.keys(document.components.schemas['FilterLists']?.['properties'] ?? {});
  const faults = (await namesRead())
    .filter((name) => !known.has(name) && !listed.includes(name))
    .map((name) => `${file} does not know the parameter ${name}`);
  for (const name of lists.filter((one) => !listed.includes(one)))
    faults.push(`${file} does not know the parameter ${name}`);
  for (const { at, parameters } of operations) {
    const names = parameters.map(({ name }) => name);
    if (!names.includes('actor')) continue;
    for (const name of [...filterNames, 'orgId', 'lists'].filter((one) => !names.includes(one)))
      faults.push(`${file} ${at} lacks the parameter ${name}`);
  }
  const words = await readFile('docs/contract-events.md', 'utf8');
  for (const name of filterNames.filter((one) => !words.includes(`\`${one}\``)))
    faults.push(`docs/contract-events.md does not name the filter ${name}`);
  const page = await readFile('web/events/filters.ts', 'utf8');
  const ofPage = /filterNames = \[([^\]]*)\]/.exec(page)?.[1]?.match(/\w+/g) ?? [];
  for (const name of ofPage.filter((one) => ![...filterNames, 'q'].includes(one)))
    faults.push(`web/events/filters.ts: the service has no filter ${name}`);
  return faults;
}

/** @param {Parameters<typeof parameterFaults>[0]} document @returns {string} the type of what selects events */
function selectionTypes(document) {
  const audit = queryParameters(document).find(({ at }) => at === 'get /api/v1/audit');
  const selecting =
    audit?.parameters.filter(({ name }) => !['limit', 'offset', 'schema'].includes(name)) ?? [];
  return parameterTypes(selecting, document.components.schemas);
}

/**
 * @param {Record<string, import('./openapi-types.mjs').Schema>} shared schemas of the document
 * @returns {Promise<{ commands: Record<string, string>, $defs: Record<string, import('./openapi-types.mjs').Schema> }>}
 */
async function commandSchemas(shared) {
  const { commands, schemas } = parse(await readFile(commandsFile, 'utf8'));
  const prefix = 'openapi.yaml#/components/schemas/';
  const $defs = JSON.parse(JSON.stringify(schemas), (_, value) =>
    value?.$ref?.startsWith(prefix) ? (shared[value.$ref.slice(prefix.length)] ?? value) : value,
  );
  const referenced = [...JSON.stringify($defs).matchAll(/"\$ref":"(?:#\/\$defs\/)?([^"]*)"/g)].map(
    ([, name]) => name,
  );
  const used = new Set([...Object.values(commands), ...referenced]);
  for (const name of used) if (!(name in $defs)) throw new Error(`${commandsFile} has no schema ${name}`);
  for (const name of Object.keys($defs))
    if (!used.has(name)) throw new Error(`${commandsFile}: no command prints ${name}`);
  return { commands, $defs };
}

const text = await readFile(file, 'utf8');
const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
if (from < begin.length || to < from) throw new Error(`${file} has lost the marks around the copies`);
const yaml = `${text.slice(0, from)}${await copied()}${text.slice(to)}`;
const document = parse(yaml);
const commands = await commandSchemas(document.components.schemas);
const made = {
  [file]: yaml,
  [jsonFile]: `${JSON.stringify(document, undefined, 2)}\n`,
  [typesFile]: `${schemaTypes('Schemas', 'openapi', document.components.schemas)}\n${selectionTypes(document)}`,
  'schema/commands.json': `${JSON.stringify(commands, undefined, 2)}\n`,
  'schema/commands.d.ts': schemaTypes('CommandSchemas', 'commands', commands.$defs),
};
for (const [path, current] of Object.entries(made)) {
  if (process.argv.includes('--write')) await writeFile(path, current);
  else if (current !== (await readFile(path, 'utf8'))) {
    process.stdout.write(`${path} is not up to date; run npm run openapi\n`);
    process.exitCode = 1;
  }
}
const all = [...(await faults()), ...(await parameterFaults(document))];
for (const fault of all) process.stdout.write(`${file} ${fault}\n`);
if (all.length > 0) process.exitCode = 1;
