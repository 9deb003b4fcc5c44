import { type AttributeFacts, type ClassFacts, type Facts, type ObjectFacts, ocsfFacts } from './facts.ts';
import type { Fault } from './fault.ts';
import { checkPrimitive } from './primitives.ts';
import { checkObservables } from './observables.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An event of any producer, strictly: attributes, types and bounds, lists of values, constraints, captions, observables. */
export function validateEvent(event: unknown): Fault[] {
  const facts = ocsfFacts();
  if (!isObject(event)) return [{ pointer: '', rule: 'must be an object' }];
  const { class_uid: uid } = event;
  const known = typeof uid === 'number' ? facts.classes.get(uid) : undefined;
  if (known === undefined) {
    const uids = [...facts.classes.keys()].sort((a, b) => a - b).join(', ');
    return [{ pointer: '/class_uid', rule: `must be a known class: ${uids}` }];
  }
  const validation = new Validation(facts, profilesOf(event));
  validation.object(event, known, '');
  validation.ofClass(event, known);
  return validation.faults;
}

function profilesOf({ metadata }: JsonObject): readonly string[] {
  const profiles = isObject(metadata) ? metadata['profiles'] : undefined;
  return Array.isArray(profiles) ? profiles.filter((one) => typeof one === 'string') : [];
}

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

class Validation {
  readonly faults: Fault[] = [];
  readonly #facts: Facts;
  readonly #profiles: readonly string[];

  constructor(facts: Facts, profiles: readonly string[]) {
    this.#facts = facts;
    this.#profiles = profiles;
    for (const [index, name] of profiles.entries())
      if (!facts.profiles.has(name)) this.#fault(`/metadata/profiles/${index}`, `is no profile of OCSF`);
  }

  object(value: JsonObject, { attributes, constraints }: ObjectFacts, pointer: string): void {
    for (const [name, member] of Object.entries(value)) {
      const at = `${pointer}/${escaped(name)}`;
      const attribute = attributes.get(name) ?? this.#ofProfile(name, attributes);
      if (attribute === undefined) this.#fault(at, 'is not an attribute here');
      else if (attribute.requirement === 'profile' && !this.#isOfProfile(name))
        this.#fault(at, 'needs its profile in metadata.profiles');
      else this.#member(member, attribute, at);
    }
    for (const [name, { requirement }] of attributes)
      if (requirement === 'required' && value[name] === undefined)
        this.#fault(`${pointer}/${name}`, 'is required');
    for (const [name, attribute] of attributes) this.#caption(value, name, attribute, pointer);
    const { at_least_one: some, just_one: one } = constraints;
    const count = (names: readonly string[]): number =>
      names.filter((name) => value[name] !== undefined).length;
    if (some !== undefined && count(some) === 0)
      this.#fault(pointer, `must have at least one of ${some.join(', ')}`);
    if (one !== undefined && count(one) !== 1)
      this.#fault(pointer, `must have just one of ${one.join(', ')}`);
  }

  ofClass(event: JsonObject, { uid, caption, categoryUid, categoryName, attributes }: ClassFacts): void {
    const { activity_id: activity, time, metadata } = event;
    const activityName = attributes.get('activity_id')?.values?.[String(activity)];
    this.#equal('/category_uid', event['category_uid'], categoryUid);
    this.#equal('/category_name', event['category_name'], categoryName);
    this.#equal('/class_name', event['class_name'], caption);
    if (typeof activity === 'number') this.#equal('/type_uid', event['type_uid'], uid * 100 + activity);
    if (activityName !== undefined)
      this.#equal('/type_name', event['type_name'], `${caption}: ${activityName}`);
    // The year 5138: no time in milliseconds.
    if (typeof time === 'number' && time >= 1e14)
      this.#fault('/time', 'must be milliseconds; this looks like microseconds');
    if (isObject(metadata)) this.#equal('/metadata/version', metadata['version'], this.#facts.version);
    this.faults.push(...checkObservables(event));
  }

  #fault(pointer: string, rule: string): void {
    this.faults.push({ pointer, rule });
  }

  #equal(pointer: string, value: unknown, expected: string | number): void {
    if (value !== undefined && value !== expected)
      this.#fault(pointer, `must be ${JSON.stringify(expected)}`);
  }

  /** An attribute of one of the event's profiles, `<name>_dt` beside a time included. */
  #ofProfile(name: string, attributes: ObjectFacts['attributes']): AttributeFacts | undefined {
    for (const profile of this.#profiles) {
      const added = this.#facts.profiles.get(profile)?.attributes.get(name);
      if (added !== undefined) return { ...added, requirement: 'optional' };
    }
    const isTime = name.endsWith('_dt') && attributes.get(name.slice(0, -3))?.type === 'timestamp_t';
    if (!isTime || !this.#profiles.includes('datetime')) return undefined;
    return {
      requirement: 'optional',
      type: 'datetime_t',
      isObject: false,
      isArray: false,
      values: undefined,
    };
  }

  #isOfProfile(name: string): boolean {
    return this.#profiles.some((one) => this.#facts.profiles.get(one)?.attributes.has(name));
  }

  #member(value: unknown, attribute: AttributeFacts, pointer: string): void {
    if (!attribute.isArray) this.#single(value, attribute, pointer);
    else if (!Array.isArray(value)) this.#fault(pointer, 'must be a list');
    else for (const [index, one] of value.entries()) this.#single(one, attribute, `${pointer}/${index}`);
  }

  #single(value: unknown, { type, isObject: holdsObject, values }: AttributeFacts, pointer: string): void {
    if (!holdsObject) {
      const rule = checkPrimitive(this.#facts.types, type, value);
      if (rule !== undefined) this.#fault(pointer, rule);
      else if (values !== undefined && !Object.hasOwn(values, String(value)))
        this.#fault(pointer, `must be one of ${Object.keys(values).join(', ')}`);
    } else if (!isObject(value)) this.#fault(pointer, 'must be an object');
    else if (type !== 'object') {
      const known = this.#facts.objects.get(type);
      if (known !== undefined) this.object(value, known, pointer);
    }
  }

  /** The name beside an id is the value's caption; beside 99 ("Other") the producer's own. */
  #caption(object: JsonObject, name: string, { values }: AttributeFacts, pointer: string): void {
    const sibling = name.endsWith('_id') ? siblingOf(name) : undefined;
    const id = object[name];
    if (sibling === undefined || values === undefined || id === 99) return;
    const expected = values[String(id)];
    if (expected !== undefined) this.#equal(`${pointer}/${sibling}`, object[sibling], expected);
  }
}

const siblingOf = (name: string): string => (name === 'activity_id' ? 'activity_name' : name.slice(0, -3));
