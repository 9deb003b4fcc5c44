/**
 * TypeScript types of the schemas of an OpenAPI document, as far as ours use JSON Schema.
 *
 * @typedef {{
 *   $ref?: string, const?: unknown, enum?: unknown[], type?: string | string[], oneOf?: Schema[], items?: Schema,
 *   properties?: Record<string, Schema>, required?: string[], description?: string
 * }} Schema
 */

/**
 * @param {string} name of the interface
 * @param {string} file in `schema`, without its ending
 * @param {Record<string, Schema>} schemas
 * @returns {string} the text of a declaration file
 */
export function schemaTypes(name, file, schemas) {
  const text = [
    `/** Types of the schemas in ${file}.yaml, made by \`npm run openapi\`. */`,
    `export interface ${name} ${objectType({ properties: schemas, required: Object.keys(schemas) }, '')}`,
    '',
  ].join('\n');
  return text.replaceAll("Schemas['", `${name}['`);
}

/**
 * Query parameters as one type; a parameter that is an object stands for one of each of its members.
 *
 * @param {{ name: string, in: string, description?: string, schema: Schema }[]} parameters @param {Record<string, Schema>} schemas
 * @returns {string} the text of a declaration
 */
export function parameterTypes(parameters, schemas) {
  const members = parameters.flatMap(({ name, description, schema: given }) => {
    const schema =
      given.$ref === undefined ? given : (schemas[given.$ref.slice(given.$ref.lastIndexOf('/') + 1)] ?? {});
    const single = { [name]: { ...schema, ...(description !== undefined && { description }) } };
    return Object.entries(schema.properties ?? single);
  });
  const lines = members.map(([name, schema]) => {
    const type = schema.type === 'integer' ? 'number | string' : typeOf(schema, '  ');
    const comment = schema.description === undefined ? '' : commentOf(schema.description, '  ');
    return `${comment}  readonly ${member(name)}?: ${type} | undefined;`;
  });
  return `/** What events are asked for. */\nexport interface EventParameters {\n${lines.join('\n')}\n}\n`;
}

/** @param {string} name @returns {string} */
const member = (name) => (/^\w+$/.test(name) ? name : `'${name}'`);

/** @param {Schema} schema @param {string} indent @returns {string} */
function typeOf(schema, indent) {
  if (schema.$ref !== undefined) return `Schemas['${schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)}']`;
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  if (schema.oneOf !== undefined) return schema.oneOf.map((one) => typeOf(one, indent)).join(' | ');
  if (Array.isArray(schema.type))
    return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(' | ');
  switch (schema.type) {
    case 'array':
      return `readonly (${typeOf(schema.items ?? {}, indent)})[]`;
    case 'object':
      return schema.properties === undefined
        ? 'Readonly<Record<string, unknown>>'
        : objectType(schema, indent);
    case 'integer':
      return 'number';
    case undefined:
      return 'unknown';
    default:
      return schema.type;
  }
}

/** @param {Schema} schema @param {string} indent @returns {string} */
function objectType({ properties = {}, required = [] }, indent) {
  const members = Object.entries(properties).map(([name, schema]) => {
    const type = typeOf(schema, `${indent}  `);
    const comment = schema.description === undefined ? '' : commentOf(schema.description, `${indent}  `);
    return required.includes(name)
      ? `${comment}${indent}  readonly ${member(name)}: ${type};`
      : `${comment}${indent}  readonly ${member(name)}?: ${type};`;
  });
  return `{\n${members.join('\n')}\n${indent}}`;
}

/** @param {string} text @param {string} indent @returns {string} */
function commentOf(text, indent) {
  return `${indent}/** ${text.trim().replaceAll(/\s*\n\s*/g, ' ')} */\n`;
}

/** @param {unknown} value @returns {string} */
function literal(value) {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}
