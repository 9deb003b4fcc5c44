import { createHash } from 'node:crypto';
import type { JSONValue } from '@jmespath-community/jmespath';
import { faultText } from '../base/errors/fault.ts';
import { textCode } from '../ocsf/activity-classes.ts';
import type { Window } from '../ocsf/byte-text.ts';
import type { MappingDefinition } from './definition.ts';
import { compileExpression, compileMembers, type Evaluate, ExpressionError } from './expressions.ts';
import { type RawMembers, RecordReader } from './members.ts';
import { parseJson, plain } from './parse.ts';
import { partsOf } from './parts.ts';
import { verbOf } from './verbs.ts';

const nothing: Evaluate = () => undefined;

const knownCodesMax = 4_096;
/** A longer text is remembered nowhere: it may be as long as an event. */
const knownTextCharactersMax = 256;
const knownCodes = new Map<string, number>();

/** The same code for the same text, on every machine and in every release. */
function codeOfText(text: string): number {
  const known = knownCodes.get(text);
  if (known !== undefined) return known;
  const code = textCode(createHash('sha256').update(text).digest().readUInt32BE(0), verbOf(text));
  if (text.length <= knownTextCharactersMax && knownCodes.size < knownCodesMax) knownCodes.set(text, code);
  return code;
}

/**
 * Makes source events of other programs' records, by a definition. What comes out is checked as any source event is: a
 * mapping loosens no rule (contract: Source adapters).
 */
export class Mapping {
  readonly name: string;
  /** The member with the records, where a document has them in a list of its own. */
  readonly records: string | undefined;
  readonly #definition: MappingDefinition;
  readonly #reader = new RecordReader();
  readonly #each: readonly string[] | undefined;
  readonly #time: Evaluate;
  readonly #level: Evaluate;
  readonly #msg: Evaluate;
  readonly #action: Evaluate;
  readonly #title: Evaluate;
  readonly #members: Evaluate;
  readonly #extra: Evaluate;

  /** Throws ExpressionError, which names the member whose expression is none. */
  constructor(definition: MappingDefinition) {
    const optional = (at: string, text: string | undefined): Evaluate =>
      text === undefined ? nothing : compileExpression(at, text);
    this.name = definition.name;
    this.records = definition.records;
    this.#definition = definition;
    this.#each = definition.each?.split('.');
    this.#time = compileExpression('/time', definition.time);
    this.#level = optional('/level', definition.level);
    this.#msg = optional('/msg', definition.msg);
    this.#action = compileExpression('/action', definition.action);
    this.#title = optional('/title', definition.title);
    this.#members = compileMembers('/event', definition.event ?? {});
    this.#extra = compileMembers('/extra', definition.extra ?? {});
  }

  /** Returns the source events of the record in [start, end) of the window, or why it is none (see `faultText`). */
  map(window: Window, start: number, end: number): readonly string[] | string {
    const members = this.#reader.read(window, start, end);
    if (typeof members === 'string') return members;
    const text = Buffer.from(window.bytes.buffer, window.bytes.byteOffset + start, end - start).toString(
      'utf8',
    );
    try {
      const parts = this.#each === undefined ? [text] : partsOf(text, members, this.#each, this.#reader);
      return parts.map((part) => this.#eventOf(parseJson(part), part, members));
    } catch (error) {
      if (error instanceof ExpressionError)
        return faultText('record', '', `cannot be mapped: ${error.message} (in the mapping ${this.name})`);
      throw error;
    }
  }

  #eventOf(record: JSONValue, text: string, members: RawMembers): string {
    const event = JSON.stringify({ level: this.#level(record), msg: this.#msg(record) });
    const message = JSON.stringify({
      timestamp: this.#time(record),
      action: this.#actionOf(record),
      ...(this.#members(record) as object | undefined),
    });
    const facts = this.#extra(record);
    const whole = this.#extraOf(text, members);
    const extra = facts === undefined ? whole : joined(JSON.stringify(facts), whole.slice(1, -1));
    const withExtra = joined(message, `"extra":${extra}`);
    return joined(event, `"message":${withExtra}`);
  }

  #actionOf(record: JSONValue): unknown {
    const action = plain(this.#action(record));
    const title = this.#title(record);
    if (typeof action !== 'string') return title === undefined ? action : { code: action, title };
    const { codes = {} } = this.#definition;
    const code = Object.hasOwn(codes, action) ? codes[action] : codeOfText(action);
    return { code, title: title ?? action };
  }

  /** Spliced in as text, so that every digit, null and order of members stays. */
  #extraOf(text: string, members: RawMembers): string {
    const { used } = this.#definition;
    if (used === undefined) return `{${JSON.stringify(this.name)}:${text}}`;
    const taken = new Set(used.map((names) => firstTaken(names, members)));
    const rest = [...members].filter(([name]) => !taken.has(name));
    return `{${rest.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
  }
}

/** The first of the names that has a text or a number, as functions of mappings take it: what has parts may be more. */
function firstTaken(names: readonly string[], members: RawMembers): string | undefined {
  return names.find((name) => /^(?:"(?!")|[-\d])/.test(members.get(name) ?? ''));
}

/** The JSON object with one more member. */
function joined(object: string, member: string): string {
  return object === '{}' ? `{${member}}` : `${object.slice(0, -1)},${member}}`;
}
