import build from 'fast-json-stringify';
import { fromByteText, toByteText } from './byte-text.ts';
import type { SourceReading } from './source-fields.ts';
import { readSchema } from './source-event.ts';

/** The typed part of an audit event, before `enrichments`; undefined is left out (contract: Audit event). */
export interface RenderedFields {
  readonly time: number;
  readonly activity_id: number;
  readonly activity_name: string;
  readonly severity: string;
  readonly severity_id: number;
  readonly status: string;
  readonly status_id: number;
  readonly status_detail: string | undefined;
  readonly message: string;
  readonly actor: {
    readonly user:
      | {
          readonly name: string | undefined;
          readonly email_addr: string | undefined;
          readonly type: string | undefined;
        }
      | undefined;
    readonly app_name: string;
  };
  readonly src_endpoint: { readonly ip: string | undefined; readonly port: number | undefined } | undefined;
  readonly flow_id: string | undefined;
}

const renderedNames = [
  'time',
  'activity_id',
  'activity_name',
  'severity',
  'severity_id',
  'status',
  'status_id',
  'status_detail',
  'message',
  'actor',
  'src_endpoint',
  'flow_id',
] as const satisfies readonly (keyof RenderedFields)[];

const indexedMembersMax = 16;

/** A renderer of the fields above, compiled from the schema of audit events; braces around the members included. */
export function createFieldsRenderer(): (fields: RenderedFields) => string {
  const schema = readSchema('audit-event');
  const properties = schema['properties'] as Readonly<Record<string, object>>;
  const required = schema['required'] as readonly string[];
  const subset = {
    type: 'object',
    // Required members are written first, in this order, and without asking whether they are there.
    required: renderedNames.filter((name) => required.includes(name)),
    properties: Object.fromEntries(renderedNames.map((name) => [name, properties[name] ?? {}])),
  } as const;
  return build(structuredClone(subset) as build.ObjectSchema);
}

/**
 * `,"enrichments":[…],"extra_map":{…}`, or nothing when `extra` has no members. Names and strings are the tokens
 * that the producer sent, so escapes and digits stay as they were; other values are quoted as JSON text.
 * Where a name appears twice, its last value counts, as it does for a reader of `extra_map`.
 */
export function renderExtra(r: SourceReading): string {
  const { source, extraMembers } = r;
  const names: string[] = [];
  const values: string[] = [];
  const indexOf =
    extraMembers.length / 4 > indexedMembersMax ? mapIndex() : (name: string) => names.indexOf(name);
  for (let at = 0; at < extraMembers.length; at += 4) {
    const token = source.slice(extraMembers[at], extraMembers[at + 1]);
    const value = stringOfValue(source.slice(extraMembers[at + 2], extraMembers[at + 3]));
    // Two spellings of one name are told to be one only when their escapes are undone.
    const name = token.includes('\\') ? toByteText(JSON.stringify(JSON.parse(fromByteText(token)))) : token;
    const known = indexOf(name);
    if (known >= 0) values[known] = value;
    else {
      names.push(name);
      values.push(value);
    }
  }
  if (names.length === 0) return '';
  let pairs = '';
  for (let at = 0; at < names.length; at++) {
    pairs += `${at === 0 ? '' : ','}{"name":${names[at]},"value":${values[at]}}`;
  }
  return `,"enrichments":[${pairs}],"extra_map":${source.slice(r.extraStart, r.extraEnd)}`;
}

/** As `indexOf` of a list that grows by each name it did not have; for objects too large to walk for every name. */
function mapIndex(): (name: string) => number {
  const indexes = new Map<string, number>();
  return (name) => {
    const known = indexes.get(name);
    if (known === undefined) indexes.set(name, indexes.size);
    return known ?? -1;
  };
}

/** A JSON string for a value's JSON text: itself when it is one, else its text in quotes. */
function stringOfValue(token: string): string {
  const code = token.charCodeAt(0);
  if (code === 0x22) return token;
  // Only objects and arrays can hold characters that need escaping.
  return code === 0x7b || code === 0x5b ? JSON.stringify(token) : `"${token}"`;
}
