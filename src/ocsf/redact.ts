import { fromByteText, toByteText, type Window } from './byte-text.ts';
import { plainName } from '../base/events/secret-name.ts';
import {
  Cursor,
  closeBrace,
  closeBracket,
  codeAt,
  comma,
  openBrace,
  openBracket,
  quote,
  scanKey,
  scanScalar,
  scanString,
  skipSpace,
  stringValue,
  textSlice,
} from './json-cursor.ts';
import type { Watch } from './json-text.ts';
import { alwaysRedacted, pairNames, pairValue, SecretNames } from './secret-names.ts';
import { mayHoldSecret, redactedText, withoutSecrets } from './secret-shapes.ts';
import { eventMembers, type Field, fieldOfKey, type Members } from './source-fields.ts';

export interface RedactionSettings {
  /** Names beside the built-in ones; one with a leading `!` is removed. */
  readonly redactKeys: readonly string[];
  /** Default true. */
  readonly redactValues?: boolean | undefined;
}

export function makeRedaction({ redactKeys, redactValues = true }: RedactionSettings): Redaction {
  return new Redaction([...alwaysRedacted, ...redactKeys], redactValues);
}

/**
 * Removes secrets from source events (contract: Ingest). The first read only looks for suspects; a suspect event is
 * rewritten without its secrets and read again:
 *
 *     read ─▶ suspect? ─no─────────────────────────────────▶ rows
 *                └yes─▶ without its secrets ─▶ read again ─▶ rows
 *
 * So no later code sees a secret, and a redacted event is valid JSON.
 */
export class Redaction implements Watch {
  readonly #names: SecretNames;
  readonly #hasShapes: boolean;

  constructor(keys: readonly string[], hasShapes = true) {
    this.#names = new SecretNames(keys);
    this.#hasShapes = hasShapes;
  }

  onName(c: Cursor): void {
    if (!c.suspect && this.#names.isSuspect(c)) c.suspect = true;
  }

  onText(c: Cursor, start: number, end: number): void {
    if (this.#hasShapes && !c.suspect && mayHoldSecret(c, start, end)) c.suspect = true;
  }

  /** Undefined if the event has no secret. */
  redacted(window: Window, start: number, end: number): string | undefined {
    const walk = new Walk(window, start, end, this.#names, this.#hasShapes);
    return walk.redacted();
  }
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly token: string;
}

/** true, false and null only reveal whether there is a secret. */
const isLiteral = (code: number): boolean => code === 0x74 || code === 0x66 || code === 0x6e;

class Walk {
  readonly #c = new Cursor();
  readonly #start: number;
  readonly #names: SecretNames;
  readonly #hasShapes: boolean;
  readonly #edits: Edit[] = [];

  constructor({ bytes, text }: Window, start: number, end: number, names: SecretNames, hasShapes: boolean) {
    this.#start = this.#c.open(bytes, start, end, text, start);
    this.#names = names;
    this.#hasShapes = hasShapes;
  }

  redacted(): string | undefined {
    const end = this.#value(this.#start, eventMembers);
    if (this.#edits.length === 0) return undefined;
    const parts: string[] = [];
    let from = this.#start;
    // If a value has two edits, the later one replaces all of it.
    const edits = this.#edits.toReversed().toSorted((a, b) => a.start - b.start || b.end - a.end);
    for (const { start, end, token } of edits) {
      if (start < from) continue;
      parts.push(textSlice(this.#c, from, start), token);
      from = end;
    }
    parts.push(textSlice(this.#c, from, end));
    return parts.join('');
  }

  #value(at: number, known?: Members): number {
    const c = this.#c;
    switch (codeAt(c, at)) {
      case quote:
        return this.#text(at);
      case openBrace:
        return this.#object(at, known);
      case openBracket:
        return this.#array(at);
      default:
        return scanScalar(c, at);
    }
  }

  #text(at: number): number {
    const c = this.#c;
    const end = scanString(c, at);
    if (!this.#hasShapes || !mayHoldSecret(c, at, end)) return end;
    const value = stringValue(c, at + 1, end - 1, c.escaped);
    const shown = withoutSecrets(value);
    if (shown === value) return end;
    const token = c.escaped ? toByteText(JSON.stringify(fromByteText(shown))) : `"${shown}"`;
    this.#edits.push({ start: at, end, token });
    return end;
  }

  #array(at: number): number {
    const c = this.#c;
    let next = skipSpace(c, at + 1);
    while (codeAt(c, next) !== closeBracket) {
      next = skipSpace(c, this.#value(next));
      if (codeAt(c, next) === comma) next = skipSpace(c, next + 1);
    }
    return next + 1;
  }

  /** In a pair the value may come before the name. */
  #object(at: number, known: Members | undefined): number {
    const c = this.#c;
    const values: number[] = [];
    let isSecretPair = false;
    let next = skipSpace(c, at + 1);
    while (codeAt(c, next) !== closeBrace) {
      const start = scanKey(c, next);
      const field = known && fieldOfKey(c, known);
      const name = this.#names.roleOf(c);
      next = this.#member(start, field);
      if (field === undefined && this.#names.has(name)) this.#hide(start, next);
      if (name === pairValue) values.push(start, next);
      if (pairNames.has(name) && this.#isSecretName(start, next)) isSecretPair = true;
      next = skipSpace(c, next);
      if (codeAt(c, next) === comma) next = skipSpace(c, next + 1);
    }
    if (isSecretPair)
      for (let i = 0; i < values.length; i += 2) this.#hide(values[i] as number, values[i + 1] as number);
    return next + 1;
  }

  #member(at: number, field: Field | undefined): number {
    const isPlain = field?.mayHoldSecret === false && codeAt(this.#c, at) === quote;
    return isPlain ? scanString(this.#c, at) : this.#value(at, field?.members);
  }

  #isSecretName(start: number, end: number): boolean {
    const c = this.#c;
    if (codeAt(c, start) !== quote) return false;
    return this.#names.has(plainName(fromByteText(stringValue(c, start + 1, end - 1, c.escaped))));
  }

  #hide(start: number, end: number): void {
    if (isLiteral(codeAt(this.#c, start))) return;
    this.#edits.push({ start, end, token: `"${redactedText}"` });
  }
}
