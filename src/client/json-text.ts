import { AuditlogError } from './error.ts';
import type { EventsRead } from './types.ts';

/** Builds no values, so that every digit stays. */

interface Part {
  /** The key of a member; empty for an element. */
  readonly key: string;
  readonly start: number;
  readonly end: number;
}

function endOfString(text: string, at: number): number {
  let quote = text.indexOf('"', at + 1);
  for (; quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0;
    while (text[quote - 1 - slashes] === '\\') slashes += 1;
    if (slashes % 2 === 0) return quote;
  }
  return text.length;
}

function* splitParts(text: string, open: number): Generator<Part> {
  let depth = 0;
  let key = '';
  let start = open + 1;
  for (let at = start; depth >= 0 && at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    else if (depth === 0 && character === ':') {
      key = JSON.parse(text.slice(start, at)) as string;
      start = at + 1;
    }
    if (depth < 0 || (depth === 0 && character === ',')) {
      yield { key, start, end: at };
      start = at + 1;
    }
  }
}

function findMember(text: string, open: number, name: string): Part | undefined {
  let member: Part | undefined;
  if (text[open] === '{') for (const part of splitParts(text, open)) if (part.key === name) member = part;
  return member;
}

const skipLayout = (text: string, { start } = { start: 0 }): number => start + text.slice(start).search(/\S/);

export interface Envelope<E> extends EventsRead<E> {
  readonly meta: Readonly<Record<string, unknown>>;
}

/** Events as values and as their original texts. Throws AuditlogError `protocol`. */
export function readEnvelope<E>(text: string): Envelope<E> {
  const { data: events, meta } = parsed(text);
  if (!Array.isArray(events) || !events.every(isObject) || !isObject(meta))
    throw new AuditlogError('protocol', 'unexpected answer: no "data" or no "meta"');
  const data = findMember(text, skipLayout(text), 'data');
  const texts =
    data === undefined || events.length === 0
      ? []
      : Array.from(splitParts(text, skipLayout(text, data)), ({ start, end }) =>
          text.slice(start, end).trim(),
        );
  return { events: events as readonly unknown[] as readonly E[], texts, meta };
}

function parsed(text: string): { readonly data?: unknown; readonly meta?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as object;
  } catch {
    // The parser's message would quote the events.
    throw new AuditlogError('protocol', 'the answer is not JSON');
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Keeps strings, matches layout between tokens. */
const stringOrLayout = /("[^"\\]*(?:\\.[^"\\]*)*")|[ \t\r\n]+/g;

/** The event's text without layout and `metadata.logged_time`, which differs with every reading. */
export function eventIdentity(text: string): string {
  const metadata = findMember(text, skipLayout(text), 'metadata');
  const logged =
    metadata === undefined ? undefined : findMember(text, skipLayout(text, metadata), 'logged_time');
  const rest = logged === undefined ? text : text.slice(0, logged.start) + text.slice(logged.end);
  return rest.replace(stringOrLayout, '$1');
}
