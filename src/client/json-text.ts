import { AuditlogError } from './error.ts';

/**
 * Cuts JSON texts at their members without building values: what is cut out keeps every digit. The shape is checked
 * on the way down; what lies inside a value is for `JSON.parse`, which every event goes through as well.
 */

function malformed(what: string, at: number): AuditlogError {
  return new AuditlogError('protocol', `the answer is not what the service sends: ${what} at ${at}`);
}

function skipSpace(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}

/** The place after the string whose opening quote is at `at`. */
function skipString(text: string, at: number): number {
  for (let from = at + 1; ; ) {
    const quote = text.indexOf('"', from);
    if (quote === -1) throw malformed('an unfinished string', at);
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
    from = quote + 1;
  }
}

/** The place after the object or array that begins at `at`. */
function skipNested(text: string, at: number): number {
  let depth = 0;
  for (let place = at; place < text.length; place++) {
    switch (text.charCodeAt(place)) {
      case 0x22:
        place = skipString(text, place) - 1;
        break;
      case 0x5b:
      case 0x7b:
        depth += 1;
        break;
      case 0x5d:
      case 0x7d:
        depth -= 1;
        if (depth === 0) return place + 1;
        break;
    }
  }
  throw malformed('an unfinished value', at);
}

function skipValue(text: string, at: number): number {
  const first = text[at];
  if (first === '{' || first === '[') return skipNested(text, at);
  if (first === '"') return skipString(text, at);
  let end = at;
  while (/[-+.\w]/.test(text.charAt(end))) end += 1;
  if (end === at) throw malformed('a missing value', at);
  return end;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Values of the array or object that opens at `at`, with the keys of an object; returns the place after it. */
function* parts(text: string, at: number, close: ']' | '}'): Generator<Span & { key: string }, number> {
  let place = skipSpace(text, at + 1);
  if (text[place] === close) return place + 1;
  for (;;) {
    let key = '';
    if (close === '}') {
      if (text[place] !== '"') throw malformed('a missing key', place);
      const end = skipString(text, place);
      key = JSON.parse(text.slice(place, end)) as string;
      place = skipSpace(text, end);
      if (text[place] !== ':') throw malformed('a missing colon', place);
      place = skipSpace(text, place + 1);
    }
    const end = skipValue(text, place);
    yield { key, start: place, end };
    place = skipSpace(text, end);
    if (text[place] === close) return place + 1;
    if (text[place] !== ',') throw malformed('a missing comma', place);
    place = skipSpace(text, place + 1);
  }
}

function member(text: string, at: number, name: string): Span | undefined {
  if (text[at] !== '{') return undefined;
  for (const part of parts(text, at, '}')) if (part.key === name) return part;
  return undefined;
}

/** An envelope `{"data":[…],"meta":{…}}` as the texts of its events and of `meta`. Throws AuditlogError `protocol`. */
export function splitEnvelope(text: string): { readonly events: readonly string[]; readonly meta: string } {
  const start = skipSpace(text, 0);
  if (text[start] !== '{') throw malformed('no object', start);
  const events: string[] = [];
  let meta: string | undefined;
  let hasData = false;
  const members = parts(text, start, '}');
  let step = members.next();
  for (; step.done !== true; step = members.next()) {
    const { key, start: at, end } = step.value;
    if (key === 'meta') meta = text.slice(at, end);
    if (key !== 'data') continue;
    if (hasData || text[at] !== '[') throw malformed('no list of events', at);
    hasData = true;
    for (const element of parts(text, at, ']')) {
      if (text[element.start] !== '{') throw malformed('no event', element.start);
      events.push(text.slice(element.start, element.end));
    }
  }
  if (skipSpace(text, step.value) !== text.length) throw malformed('more than one value', step.value);
  if (!hasData || meta === undefined) throw malformed('no "data" or no "meta"', text.length);
  return { events, meta };
}

/** Strings, which stay as they are, or layout between tokens, which goes. */
const stringOrLayout = /("[^"\\]*(?:\\.[^"\\]*)*")|[ \t\r\n]+/g;

/**
 * What tells an audit event from others: its text without layout and without the value of `metadata.logged_time`,
 * which is the moment of the answer and so differs with every reading, as layout may. Events that are alike in
 * everything have the same identity.
 */
export function eventIdentity(text: string): string {
  const metadata = member(text, 0, 'metadata');
  const logged = metadata === undefined ? undefined : member(text, metadata.start, 'logged_time');
  const rest = logged === undefined ? text : text.slice(0, logged.start) + text.slice(logged.end);
  return rest.replace(stringOrLayout, '$1');
}
