import type { SchemaElement } from 'hyparquet-writer';
import { ocsfEventSchema } from '../../contract/document.ts';
import { type AttributeFacts, type ClassFacts, ocsfFacts } from '../../ocsf/ocsf110/facts.ts';

export interface EventColumns {
  readonly names: readonly string[];
  /** In Parquet's order: each group before its members. */
  readonly elements: readonly SchemaElement[];
  /** Paths of 64-bit numbers in an event. */
  readonly longs: readonly (readonly string[])[];
}

/** Attributes of our events by class and object, from schema/ocsf-event.schema.json. */
interface EventSchema {
  readonly $defs: Readonly<Record<string, { readonly properties?: Readonly<Record<string, unknown>> }>>;
}

const longTypes = new Set(['long_t', 'timestamp_t']);
const integerTypes = new Set(['integer_t', 'port_t']);

/** An attribute without fixed form (`unmapped`): JSON text, because no Parquet type for it is universal. */
const isFree = ({ type }: AttributeFacts): boolean => type === 'object';

export function eventColumns(classUid?: number): EventColumns {
  const { $defs } = JSON.parse(ocsfEventSchema()) as EventSchema;
  const namesOf = (entity: string): string[] => Object.keys($defs[entity]?.properties ?? {});
  const attributes = new Map<string, AttributeFacts>();
  for (const [uid, facts] of ocsfFacts().classes) {
    if (classUid !== undefined && uid !== classUid) continue;
    for (const name of namesOf(facts.name)) attributes.set(name, attributeOf(facts, name));
  }
  const longs: string[][] = [];
  const members = [...attributes].flatMap(([name, attribute]) =>
    elementsOf([name], attribute, { namesOf, longs }),
  );
  const root: SchemaElement = { name: 'event', num_children: attributes.size };
  return { names: [...attributes.keys()], elements: [root, ...members], longs };
}

function attributeOf({ name: className, attributes }: ClassFacts, name: string): AttributeFacts {
  const profiles = [...ocsfFacts().profiles.values()];
  const attribute = [attributes, ...profiles.map((one) => one.attributes)]
    .find((one) => one.has(name))
    ?.get(name);
  if (attribute === undefined) throw new Error(`the schema has no attribute ${name} of class ${className}`);
  return attribute;
}

interface Context {
  namesOf(entity: string): string[];
  readonly longs: string[][];
}

/** Every attribute is optional, even required ones: readers that join files of several releases expect it. */
function elementsOf(
  path: readonly string[],
  attribute: AttributeFacts,
  context: Context,
  name = path.at(-1) ?? '',
): SchemaElement[] {
  const optional = { name, repetition_type: 'OPTIONAL' } as const;
  if (attribute.isArray) {
    const one = elementsOf(path, { ...attribute, isArray: false }, context, 'element');
    return [
      { ...optional, converted_type: 'LIST', num_children: 1 },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      ...one,
    ];
  }
  if (!attribute.isObject || isFree(attribute)) {
    if (longTypes.has(attribute.type)) context.longs.push([...path]);
    return [{ ...optional, ...parquetType(attribute) }];
  }
  const known = ocsfFacts().objects.get(attribute.type)?.attributes;
  const names = context.namesOf(attribute.type);
  const members = names.flatMap((one) => {
    const member = known?.get(one);
    if (member === undefined) throw new Error(`the schema has no attribute ${one} of ${attribute.type}`);
    return elementsOf([...path, one], member, context);
  });
  return [{ ...optional, num_children: names.length }, ...members];
}

function parquetType({ type }: AttributeFacts): Omit<SchemaElement, 'name'> {
  if (longTypes.has(type)) return { type: 'INT64' };
  if (integerTypes.has(type)) return { type: 'INT32' };
  if (type === 'boolean_t') return { type: 'BOOLEAN' };
  return { type: 'BYTE_ARRAY', converted_type: 'UTF8' };
}
