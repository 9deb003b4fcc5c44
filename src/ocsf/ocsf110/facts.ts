import { readFileSync } from 'node:fs';

/**
 * OCSF 1.1.0 classes and objects, from schema/ocsf-1.1.0.json. An attribute is one word there: `!` required,
 * `+` recommended, `?` only with its profile; then its type or object; then `[]` for a list.
 */
export interface Facts {
  readonly version: string;
  readonly types: Readonly<Record<string, TypeFacts>>;
  readonly profiles: ReadonlyMap<string, ObjectFacts>;
  readonly classes: ReadonlyMap<number, ClassFacts>;
  readonly objects: ReadonlyMap<string, ObjectFacts>;
}

/** Its base type supplies missing facts. */
export interface TypeFacts {
  readonly type?: string;
  readonly max_len?: number;
  readonly regex?: string;
  readonly range?: readonly [number, number];
}

export type EnumFacts = Readonly<Record<string, string>>;

export interface AttributeFacts {
  readonly requirement: 'required' | 'recommended' | 'optional' | 'profile';
  /** Ends in `_t` for a primitive; otherwise an object's name. */
  readonly type: string;
  readonly isObject: boolean;
  readonly isArray: boolean;
  readonly values: EnumFacts | undefined;
}

export interface ConstraintFacts {
  readonly at_least_one?: readonly string[];
  readonly just_one?: readonly string[];
}

export interface ObjectFacts {
  readonly attributes: ReadonlyMap<string, AttributeFacts>;
  readonly constraints: ConstraintFacts;
}

export interface ClassFacts extends ObjectFacts {
  readonly uid: number;
  readonly name: string;
  readonly caption: string;
  readonly categoryUid: number;
  readonly categoryName: string;
}

interface StoredObject {
  readonly attributes: Readonly<Record<string, string>>;
  readonly enums?: Readonly<Record<string, EnumFacts>>;
  readonly constraints?: ConstraintFacts;
}

interface StoredClass extends StoredObject {
  readonly name: string;
  readonly caption: string;
  readonly category_uid: number;
  readonly category_name: string;
}

interface Stored {
  readonly version: string;
  readonly types: Readonly<Record<string, TypeFacts>>;
  readonly observables: EnumFacts;
  readonly profiles: Readonly<Record<string, StoredObject>>;
  readonly common: StoredObject;
  readonly classes: Readonly<Record<string, StoredClass>>;
  readonly objects: Readonly<Record<string, StoredObject>>;
}

const requirements = { '!': 'required', '+': 'recommended', '?': 'profile' } as const;
const isMark = (text: string): text is keyof typeof requirements => text in requirements;

function parseAttribute(word: string, values: EnumFacts | undefined): AttributeFacts {
  const mark = word.slice(0, 1);
  const requirement = isMark(mark) ? requirements[mark] : 'optional';
  const isArray = word.endsWith('[]');
  const type = word.slice(isMark(mark) ? 1 : 0, isArray ? -2 : undefined);
  return { requirement, type, isObject: !type.endsWith('_t'), isArray, values };
}

function readObject({ attributes, enums = {}, constraints = {} }: StoredObject): ObjectFacts {
  const entries = Object.entries(attributes);
  return {
    attributes: new Map(entries.map(([name, word]) => [name, parseAttribute(word, enums[name])])),
    constraints,
  };
}

function readClass(uid: number, stored: StoredClass, common: StoredObject): ClassFacts {
  const all = {
    ...stored,
    attributes: { ...common.attributes, ...stored.attributes },
    enums: { ...common.enums, ...stored.enums },
  };
  const { name, caption, category_uid: categoryUid, category_name: categoryName } = stored;
  return { ...readObject(all), uid, name, caption, categoryUid, categoryName };
}

function readObjects(stored: Readonly<Record<string, StoredObject>>): Map<string, ObjectFacts> {
  return new Map(Object.entries(stored).map(([name, object]) => [name, readObject(object)]));
}

function read(): Facts {
  const file = new URL('../../../schema/ocsf-1.1.0.json', import.meta.url);
  const stored = JSON.parse(readFileSync(file, 'utf8')) as Stored;
  const { version, types, observables, common } = stored;
  const objects = readObjects(stored.objects);
  const { observable } = stored.objects;
  // The schema derives this list from its types and objects.
  if (observable !== undefined)
    objects.set('observable', readObject({ ...observable, enums: { type_id: observables } }));
  const classes = Object.entries(stored.classes).map(
    ([uid, one]) => [Number(uid), readClass(Number(uid), one, common)] as const,
  );
  return { version, types, profiles: readObjects(stored.profiles), classes: new Map(classes), objects };
}

let facts: Facts | undefined;

export function ocsfFacts(): Facts {
  facts ??= read();
  return facts;
}
