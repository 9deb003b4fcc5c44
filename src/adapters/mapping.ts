import { createHash } from 'node:crypto';
import type { JSONValue } from '@jmespath-community/jmespath';
import { faultText } from '../base/errors/fault.ts';
import { textCode } from '../ocsf/activity-classes.ts';
import { fromByteText, toWindow, type Window } from '../ocsf/byte-text.ts';
import { Redaction } from '../ocsf/redact.ts';
import type { MappingDefinition } from './definition.ts';
import { compileExpression, compileMembers, type Evaluate, ExpressionError } from './expressions.ts';
import { type RawMembers, RecordReader } from './members.ts';
import { failure, type Outcome, OutcomeReader } from './outcome.ts';
import { parseJson, plain } from './parse.ts';
import { partsOf } from './parts.ts';
import { findVerb } from './verbs.ts';

const nothing: Evaluate = () => undefined;

const knownCodesMax = 4_096;
/** Longer texts are not cached: they may be as long as an event. */
const knownTextCharactersMax = 256;
const knownCodes = new Map<string, number>();

function codeOfText(text: string): number {
  const known = knownCodes.get(text);
  if (known !== undefined) return known;
  const code = textCode(createHash('sha256').update(text).digest().readUInt32BE(0), findVerb(text));
  if (text.length <= knownTextCharactersMax && knownCodes.size < knownCodesMax) knownCodes.set(text, code);
  return code;
}

/** Activities that are failures even without an outcome. */
const failures: ReadonlySet<unknown> = new Set([1002, 1102]);

export interface MappedRecord {
  /** Unique in its source; undefined if the mapping or the record has none. */
  readonly id: string | undefined;
  readonly events: readonly string[];
}

/**
 * Maps other programs' records to source events, which are validated like any other (contract: Source
 * adapters).
 */
export class Mapping {
  readonly name: string;
  /** The document's member that contains the list of records. */
  readonly records: string | undefined;
  readonly definition: MappingDefinition;
  readonly #reader = new RecordReader();
  readonly #each: readonly string[] | undefined;
  readonly #id: Evaluate;
  readonly #time: Evaluate;
  readonly #level: Evaluate;
  readonly #msg: Evaluate;
  readonly #action: Evaluate;
  readonly #title: Evaluate;
  readonly #outcome: OutcomeReader;
  readonly #members: Evaluate;
  readonly #extra: Evaluate;
  readonly #hasSecrets: Evaluate;
  readonly #redaction: Redaction;

  /** Throws ExpressionError for an invalid expression. */
  constructor(definition: MappingDefinition) {
    const optional = (at: string, text: string | undefined): Evaluate =>
      text === undefined ? nothing : compileExpression(at, text);
    this.name = definition.name;
    this.records = definition.records;
    this.definition = definition;
    this.#each = definition.each?.split('.');
    this.#id = optional('/id', definition.id);
    this.#time = compileExpression('/time', definition.time);
    this.#level = optional('/level', definition.level);
    this.#msg = optional('/msg', definition.msg);
    this.#action = compileExpression('/action', definition.action);
    this.#title = optional('/title', definition.title);
    this.#outcome = new OutcomeReader(definition.outcome);
    this.#members = compileMembers('/event', definition.event ?? {});
    this.#extra = compileMembers('/extra', definition.extra ?? {});
    this.#hasSecrets = optional('/redact/when', definition.redact?.when);
    this.#redaction = new Redaction(definition.redact?.names ?? [], false);
  }

  /** A string is the refusal (see `faultText`). */
  map(window: Window, start: number, end: number): MappedRecord | string {
    const members = this.#reader.read(window, start, end);
    if (typeof members === 'string') return members;
    const text = Buffer.from(window.bytes.buffer, window.bytes.byteOffset + start, end - start).toString(
      'utf8',
    );
    try {
      return this.#mapped(text, members);
    } catch (error) {
      if (error instanceof ExpressionError)
        return faultText('record', '', `cannot be mapped: ${error.message} (in the mapping ${this.name})`);
      throw error;
    }
  }

  #mapped(text: string, members: RawMembers): MappedRecord {
    const record = parseJson(text);
    const shown = this.#hasSecrets(record) === true ? this.#withoutSecrets(text) : undefined;
    if (shown !== undefined) return this.#mappedParts(...shown);
    if (this.#each !== undefined) return this.#mappedParts(text, members);
    return { id: this.#idOf(record), events: [this.#eventOf(record, text, members)] };
  }

  #mappedParts(text: string, members: RawMembers): MappedRecord {
    const parts = this.#each === undefined ? [text] : partsOf(text, members, this.#each, this.#reader);
    const events = parts.map((part) => this.#eventOf(parseJson(part), part, members));
    return { id: this.#idOf(parseJson(text)), events };
  }

  /** Undefined if it has none of these names. */
  #withoutSecrets(text: string): readonly [text: string, members: RawMembers] | undefined {
    const window = toWindow(text);
    const redacted = this.#redaction.redacted(window, 0, window.bytes.length);
    if (redacted === undefined) return undefined;
    const shown = toWindow(fromByteText(redacted));
    const members = this.#reader.read(shown, 0, shown.bytes.length);
    if (typeof members === 'string') throw new Error(`a redacted record cannot be read: ${members}`);
    return [fromByteText(redacted), members];
  }

  #idOf(record: JSONValue): string | undefined {
    const id = plain(this.#id(record));
    return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined;
  }

  #eventOf(record: JSONValue, text: string, members: RawMembers): string {
    const event = JSON.stringify({ level: this.#level(record), msg: this.#msg(record) });
    const { action, outcome } = this.#happened(record);
    const made = this.#members(record) as { readonly result?: object } | undefined;
    const result = { ...made?.result, ...outcome.result };
    const message = JSON.stringify({
      timestamp: this.#time(record),
      action,
      ...made,
      ...(Object.keys(result).length > 0 && { result }),
    });
    const own = this.#extra(record);
    const whole = this.#extraOf(text, members);
    const extra = own === undefined ? whole : joined(JSON.stringify(own), whole.slice(1, -1));
    const withExtra = joined(message, `"extra":${extra}`);
    return joined(event, `"message":${withExtra}`);
  }

  #happened(record: JSONValue): { readonly action: unknown; readonly outcome: Outcome } {
    const read = this.#outcome.of(record);
    const action = plain(this.#action(record));
    const title = this.#title(record);
    if (typeof action !== 'string') {
      const code = (action as { readonly code?: unknown } | null | undefined)?.code ?? action;
      const outcome = failures.has(code) && read.kind !== 'failure' ? failure : read;
      return { action: title === undefined ? action : { code: action, title }, outcome };
    }
    const code = this.#codeOf(action, read) ?? codeOfText(action);
    return { action: { code, title: title ?? action }, outcome: read };
  }

  #codeOf(action: string, { kind }: Outcome): number | undefined {
    const { codes = {} } = this.definition;
    const code = Object.hasOwn(codes, action) ? codes[action] : undefined;
    if (typeof code !== 'object') return code;
    return kind === 'unknown' ? undefined : code[kind];
  }

  /** Spliced as text, so digits, nulls and order stay. */
  #extraOf(text: string, members: RawMembers): string {
    const { used } = this.definition;
    if (used === undefined) return `{${JSON.stringify(this.name)}:${text}}`;
    const usedNames = new Set(used.map((names) => firstTaken(names, members)));
    const rest = [...members].filter(([name]) => !usedNames.has(name));
    return `{${rest.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
  }
}

function firstTaken(names: readonly string[], members: RawMembers): string | undefined {
  return names.find((name) => /^(?:"(?!")|[-\d])/.test(members.get(name) ?? ''));
}

function joined(object: string, member: string): string {
  return object === '{}' ? `{${member}}` : `${object.slice(0, -1)},${member}}`;
}
