import { readFile, writeFile } from 'node:fs/promises';

/**
 * Makes schema/ocsf-event.schema.json, the JSON Schema of events with `schema=ocsf`, from OCSF's facts in
 * schema/ocsf-1.1.0.json and the attributes that we use. `npm run ocsf` writes it, `npm run check` compares it.
 *
 * @typedef {{ attributes: Record<string, string>, enums?: Record<string, Record<string, string>>, caption: string,
 *   name: string, category_uid: number, category_name: string, constraints?: Record<string, string[]> }} Entity
 * @typedef {Record<string, unknown>} Schema
 */
const facts = JSON.parse(await readFile('schema/ocsf-1.1.0.json', 'utf8'));
const file = 'schema/ocsf-event.schema.json';

const words = (/** @type {string} */ text) => text.split(' ');

/** Attributes of all our events, and further ones of each class. */
const common = words(
  'category_uid category_name class_uid class_name activity_id activity_name type_uid type_name time timezone_offset ' +
    'severity_id severity status_id status status_code status_detail message metadata actor observables unmapped',
);
const ofClass = {
  3001: 'user src_endpoint',
  3002: 'user service is_mfa src_endpoint',
  3003: 'user privileges session device',
  3004: 'entity device',
  3005: 'user privileges device',
  3006: 'user group device',
  6002: 'app device',
  6003: 'api resources src_endpoint',
  6006: 'file src_endpoint',
};
/** Required here, though not by OCSF. */
const always = words(
  'category_name class_name activity_name type_name severity status_id status message metadata actor unmapped',
);
/** @type {Record<string, string>} */
const ofObject = {
  metadata:
    'version product log_name uid tenant_uid event_code logged_time original_time profiles correlation_uid log_level ' +
    'log_provider log_version',
  product: 'name vendor_name',
  actor: 'user invoked_by',
  user: 'name uid email_addr type_id type',
  network_endpoint: 'ip hostname name port',
  device: 'ip hostname name type_id type',
  service: 'name',
  session: 'uid',
  group: 'name uid type',
  managed_entity: 'name uid type',
  api: 'operation',
  resource_details: 'name uid type',
  file: 'name type_id type uid size hashes',
  fingerprint: 'algorithm_id algorithm value',
  observable: 'name type_id type value',
};

const integers = { integer_t: true, long_t: true, timestamp_t: true };

/** @param {string} type @returns {Schema} */
function primitive(type) {
  const own = facts.types[type];
  if (type in integers) return { type: 'integer' };
  if (own.range) return { type: 'integer', minimum: own.range[0], maximum: own.range[1] };
  if (type === 'boolean_t') return { type: 'boolean' };
  const max = own.max_len ?? facts.types.string_t.max_len;
  return { type: 'string', maxLength: max, ...(own.regex && { pattern: own.regex }) };
}

/** @param {string} word @param {Record<string, string> | undefined} values @returns {Schema} */
function attribute(word, values) {
  const [, type = '', list] = /^[!+?]?(\w+)(\[\])?$/.exec(word) ?? [];
  const one = { $ref: `#/$defs/${type}` };
  if (type.endsWith('_t')) types.add(type);
  const schema = values === undefined ? one : enumeration(values);
  return list ? { type: 'array', items: schema } : schema;
}

/** @param {Record<string, string>} values @returns {Schema} */
function enumeration(values) {
  const captions = Object.entries(values).map(([value, caption]) => `${value} ${caption}`);
  return { enum: Object.keys(values).map(Number), description: captions.join(', ') };
}

/** @type {Set<string>} */
const types = new Set();

/** @param {Entity} entity @param {string[]} names @param {string[]} required @returns {Schema} */
function object({ attributes, enums = {}, caption, constraints = {} }, names, required) {
  const properties = Object.fromEntries(
    names.map((name) => [name, attribute(attributes[name] ?? '', enums[name])]),
  );
  const asked = names.filter((name) => attributes[name]?.startsWith('!') || required.includes(name));
  const oneOf = (constraints['just_one'] ?? []).filter((name) => names.includes(name));
  const anyOf = (constraints['at_least_one'] ?? []).filter((name) => names.includes(name));
  return {
    title: caption,
    type: 'object',
    ...(asked.length > 0 && { required: asked }),
    ...(anyOf.length > 0 && { anyOf: anyOf.map((name) => ({ required: [name] })) }),
    ...(oneOf.length > 0 && { oneOf: oneOf.map((name) => ({ required: [name] })) }),
    additionalProperties: false,
    properties,
  };
}

/** @param {string} uid @param {string} names @returns {[string, Schema]} */
function classSchema(uid, names) {
  const known = facts.classes[uid];
  /** @type {Entity} */
  const whole = {
    ...known,
    attributes: { ...facts.common.attributes, ...known.attributes },
    enums: { ...facts.common.enums, ...known.enums },
  };
  const schema = object(whole, [...common, ...words(names)], always);
  const properties = /** @type {Record<string, Schema>} */ (schema['properties']);
  const activities = Object.entries(/** @type {Record<string, string>} */ (known.enums.activity_id));
  properties['category_uid'] = { const: known.category_uid };
  properties['category_name'] = { const: known.category_name };
  properties['class_uid'] = { const: Number(uid) };
  properties['class_name'] = { const: known.caption };
  properties['type_uid'] = { enum: activities.map(([id]) => Number(uid) * 100 + Number(id)) };
  properties['type_name'] = { enum: activities.map(([, name]) => `${known.caption}: ${name}`) };
  return [known.name, schema];
}

function whole() {
  const classes = Object.entries(ofClass).map(([uid, names]) => classSchema(uid, names));
  const objects = Object.entries(ofObject).map(([name, names]) => {
    const enums = name === 'observable' ? { type_id: facts.observables } : facts.objects[name].enums;
    return [name, object({ ...facts.objects[name], enums }, words(names), [])];
  });
  const unmapped = {
    title: 'What the schema has no attribute for',
    type: 'object',
    required: ['activity_id', 'activity_name', 'time_us'],
    properties: {
      activity_id: { type: 'integer', description: 'The code of the activity.' },
      activity_name: { type: 'string', description: 'What the source, or else this service, calls it.' },
      time_us: { type: 'integer', description: 'When the activity happened, Unix microseconds.' },
    },
    additionalProperties: true,
  };
  const used = [...types].sort().map((type) => [type, primitive(type)]);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Event of OCSF 1.1.0',
    description:
      'Events as they are given with schema=ocsf: those classes and attributes of OCSF that we use.',
    type: 'object',
    required: ['class_uid'],
    properties: { class_uid: { enum: Object.keys(ofClass).map(Number) } },
    allOf: classes.map(([name, { properties }]) => ({
      if: { properties: { class_uid: /** @type {Record<string, Schema>} */ (properties)['class_uid'] } },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { $ref: `#/$defs/${name}` },
    })),
    $defs: Object.fromEntries([...classes, ...objects, ['object', unmapped], ...used]),
  };
}

const text = `${JSON.stringify(whole(), undefined, 1)}\n`;
if (process.argv.includes('--write')) await writeFile(file, text);
else if (text !== (await readFile(file, 'utf8'))) {
  process.stdout.write(`${file} is not up to date; run npm run ocsf\n`);
  process.exitCode = 1;
}
