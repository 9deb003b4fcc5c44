import { activityName } from '../../src/ocsf/activities.ts';
import { harmless } from '../support/harmless-cell.ts';
import { leaf, type LeafNode, type Member, memberOf, type Node, printTree } from './tree.ts';

/**
 * The expected result for a source event, computed simply from a tree of the whole event. Only for accepted
 * events; other tests check acceptance.
 */
export interface Expected {
  /** The stored event: the producer's bytes without white space, redacted. */
  readonly source: string;
  /** Unix microseconds, UTC. */
  readonly micros: number;
  /** The audit event without `metadata.logged_time`. */
  readonly audit: string;
  readonly csv: Readonly<Record<string, string>>;
  /**
   * A name of target or file occurs twice. JSON does not define which one counts: audit events use the last, the
   * engine's JSON functions (for CSV) another.
   */
  readonly isAmbiguous: boolean;
}

export interface ModelOptions {
  readonly hides: (name: string) => boolean;
  readonly appName: string;
  readonly vendorName: string;
  readonly productName: string;
}

const namesHidden = new Set(
  (
    'password passwd pwd passphrase oldpassword newpassword currentpassword userpassword mfasecret otp totp secret ' +
    'clientsecret secretkey secretaccesskey token accesstoken refreshtoken idtoken sessiontoken authtoken apikey ' +
    'xapikey authorization proxyauthorization cookie setcookie privatekey credentials recoverycodes'
  ).split(' '),
);

/** Secrets of known shape; tests put them between characters that do not belong to them. */
export const shapedSecrets: readonly string[] = [
  // In two parts, so that scanners of sources do not find these.
  ['eyJhbGciOiJIUzI1NiJ9', 'eyJzdWIiOiIxIn0', 'c2lnbmF0dXJl'].join('.'),
  ['AKIA', 'IOSFODNN7EXAMPLE'].join(''),
  ['ghp', '0123456789abcdefghijABCDEFGHIJ012345'].join('_'),
  ['github', 'pat', '11ABCDEFG0123456789', 'abcdefghijklm'].join('_'),
  ['xoxb', '123456789012', 'abcdefABCDEF'].join('-'),
  ['ak', '0123456789abcdef', `${'x-_'.repeat(14)}Z`].join('_'),
  [
    '-----BEGIN PRIVATE KEY-----',
    ...Array<string>(4).fill('MIIEvQIBADANBgkqhkiG9w0B'),
    '-----END PRIVATE KEY-----',
  ].join('\n'),
];

/** Secrets of a known shape, also damaged ones; none is a part of a longer word. */
const shapes: readonly RegExp[] = [
  /(?<![\w-])eyJhbGciO[g-v][\w-]+(?:\.[\w-]*){2,4}/g,
  /(?<![\w-])A[KS]IA[0-9A-Z]{16}(?![\w-])/g,
  /(?<![\w-])gh[pousr]_[A-Za-z0-9]{20,}(?![\w-])/g,
  /(?<![\w-])github_pat_\w{20,}(?![\w-])/g,
  /(?<![\w-])xox[a-z]-[A-Za-z0-9-]{14,}(?!\w)/g,
  /(?<![\w-])ak_[0-9a-z]{16}_[\w-]{43}(?![\w-])/g,
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g,
];

const unseen = /[\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff_.-]/g;

function plain(name: string): string {
  return name.toLowerCase().replace(unseen, '');
}

/** Whether a member of this name is redacted; `REDACT_KEYS` adds names, and removes those after a `!`. */
export function hiddenNames(redactKeys = ''): (name: string) => boolean {
  const names = new Set(namesHidden);
  const keys = redactKeys.split(',').filter((key) => key !== '');
  for (const key of keys) if (!key.startsWith('!')) names.add(plain(key));
  for (const key of keys) if (key.startsWith('!')) names.delete(plain(key.slice(1)));
  return (name) => names.has(plain(name));
}

const hidden = leaf('"[redacted]"');

function hide(value: Node): Node {
  return value.kind === 'leaf' && ['true', 'false', 'null'].includes(value.token) ? value : hidden;
}

function redactText(node: LeafNode): Node {
  if (typeof node.value !== 'string') return node;
  const shown = shapes.reduce<string>((text, secret) => text.replaceAll(secret, '[redacted]'), node.value);
  return shown === node.value ? node : leaf(JSON.stringify(shown));
}

/** The contract's fields, by their object: configured names do not apply to them. */
const fields: Readonly<Record<string, string>> = {
  '': 'time level msg message',
  '.message': 'timestamp actor action target result remote sender extra flow_id log org',
  '.message.actor': 'id name email type',
  '.message.action': 'code title',
  '.message.target': 'id name type',
  '.message.result': 'title description code detail',
  '.message.remote': 'ip port',
  '.message.sender': 'file email hash',
  '.message.log': 'provider version',
};

/** The event without its secrets; `path` is the node's place among fields. */
export function redactEvent(node: Node, hides: ModelOptions['hides'], path = ''): Node {
  if (node.kind === 'leaf') return redactText(node);
  if (node.kind === 'list')
    return { kind: 'list', items: node.items.map((item) => redactEvent(item, hides, 'in a list')) };
  const isNamed = ({ name, value }: Member): boolean =>
    ['name', 'key'].includes(plain(name)) &&
    typeof leafValue(value) === 'string' &&
    hides(String(leafValue(value)));
  const isPair = node.members.some(isNamed);
  const known = fields[path]?.split(' ') ?? [];
  const members = node.members.map((member) => {
    const isField = known.includes(member.name);
    const isHidden = (!isField && hides(member.name)) || (isPair && plain(member.name) === 'value');
    const below = isField ? `${path}.${member.name}` : 'elsewhere';
    return { ...member, value: isHidden ? hide(member.value) : redactEvent(member.value, hides, below) };
  });
  return { kind: 'object', members };
}

function leafValue(node: Node | undefined): unknown {
  return node?.kind === 'leaf' ? node.value : undefined;
}

/** The text at a path; null, the empty string and other types count as absent. */
function textAt(node: Node | undefined, ...path: readonly string[]): string | undefined {
  const value = leafValue(path.reduce(memberOf, node));
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function numberAt(node: Node | undefined, ...path: readonly string[]): number | undefined {
  const value = leafValue(path.reduce(memberOf, node));
  return typeof value === 'number' ? value : undefined;
}

function microsOf(node: Node | undefined): number {
  const value = leafValue(node);
  if (typeof value !== 'string') return Number(value);
  const parts = /^(.{10})[Tt ](\d\d:\d\d:)(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-]\d\d):?(\d\d))$/.exec(value);
  if (parts === null) throw new Error(`no time: ${value}`);
  const [, date, clock, second, fraction = '', hours = '+00', minutes = '00'] = parts;
  // Date knows no second 60.
  const leap = second === '60' ? 1000 : 0;
  const millis = Date.parse(`${date}T${clock}${leap > 0 ? '59' : second}.000${hours}:${minutes}`) + leap;
  return millis * 1000 + Number(fraction.padEnd(6, '0').slice(0, 6));
}

type Parts = Readonly<Record<string, string | undefined>>;

/** A JSON object of members that are JSON text; undefined ones are omitted. */
function objectText(members: Parts): string {
  const present = Object.entries(members).filter(([, value]) => value !== undefined);
  return `{${present.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
}

const json = (value: string | undefined): string | undefined =>
  value === undefined ? undefined : JSON.stringify(value);

function enrichmentsOf(extra: Node | undefined): string | undefined {
  if (extra?.kind !== 'object' || extra.members.length === 0) return undefined;
  const last = new Map(extra.members.map(({ name, value }) => [name, value]));
  const pairs = Array.from(last, ([name, value]) => {
    const text = leafValue(value);
    return objectText({
      name: json(name),
      value: json(typeof text === 'string' ? text : printTree(value)),
    });
  });
  return `[${pairs.join(',')}]`;
}

function endpointOf(message: Node | undefined): string | undefined {
  const ip = textAt(message, 'remote', 'ip');
  const port = numberAt(message, 'remote', 'port');
  if (ip === undefined && port === undefined) return undefined;
  return objectText({ ip: json(ip), port: port === undefined ? undefined : String(port + 0) });
}

const nilFlow = '00000000-0000-0000-0000-000000000000';

/** The shown facts of an event, each as a plain value. */
function factsOf(event: Node) {
  const message = memberOf(event, 'message');
  const at = (...path: readonly string[]) => textAt(message, ...path);
  const code = (numberAt(message, 'action') ?? numberAt(message, 'action', 'code') ?? 0) + 0;
  const name = at('action', 'title') ?? activityName(code);
  const titles = [at('result', 'title'), at('result', 'description')].filter((text) => text !== undefined);
  const resultCode = numberAt(message, 'result', 'code') ?? 200;
  const level = textAt(event, 'level');
  const flow = at('flow_id')?.toLowerCase();
  const stamp = memberOf(message, 'timestamp');
  const hasStamp = stamp !== undefined && leafValue(stamp) !== null && leafValue(stamp) !== '';
  return {
    message,
    micros: microsOf(hasStamp ? stamp : memberOf(event, 'time')) + 0,
    code,
    name,
    text: textAt(event, 'msg') ?? (titles.length > 0 ? titles.join(': ') : name),
    severity: level === 'ERROR' ? 'High' : level === 'WARN' ? 'Medium' : 'Informational',
    isFailure: resultCode >= 400,
    detail: at('result', 'detail'),
    actorName: at('actor', 'name'),
    actorEmail: at('actor') ?? at('actor', 'email'),
    actorType: at('actor', 'type'),
    flow: flow === nilFlow ? undefined : flow,
    extra: memberOf(message, 'extra'),
    target: at('target') ?? at('target', 'name'),
    file: at('sender', 'file'),
  };
}

type Facts = ReturnType<typeof factsOf>;

function auditOf(facts: Facts, options: ModelOptions): string {
  const { message, extra, severity } = facts;
  const user = objectText({
    name: json(facts.actorName),
    email_addr: json(facts.actorEmail),
    type: json(facts.actorType),
  });
  const enrichments = enrichmentsOf(extra);
  return objectText({
    category_name: '"Audit"',
    category_uid: '3',
    class_name: '"Application Activity"',
    class_uid: '3001',
    type_uid: '300101',
    time: String(facts.micros),
    activity_id: String(facts.code),
    activity_name: json(facts.name),
    severity: json(severity),
    severity_id: { High: '4', Medium: '3', Informational: '1' }[severity],
    status: facts.isFailure ? '"Failure"' : '"Success"',
    status_id: facts.isFailure ? '2' : '1',
    status_detail: json(facts.detail),
    message: json(facts.text),
    actor: objectText({ user: user === '{}' ? undefined : user, app_name: json(options.appName) }),
    src_endpoint: endpointOf(message),
    flow_id: json(facts.flow),
    enrichments,
    extra_map: enrichments === undefined || extra === undefined ? undefined : printTree(extra),
    metadata: objectText({
      log_provider: json(textAt(message, 'log', 'provider')),
      log_version: json(textAt(message, 'log', 'version')),
      product: objectText({ name: json(options.productName), vendor_name: json(options.vendorName) }),
      version: '"1.1.0"',
    }),
  });
}

function isoOf(micros: number): string {
  const millis = Math.floor(micros / 1000);
  return new Date(millis).toISOString().replace('Z', `${String(micros - millis * 1000).padStart(3, '0')}Z`);
}

function csvOf(facts: Facts): Record<string, string> {
  const { message, extra } = facts;
  const cell = (text: string | undefined): string => harmless(text ?? '');
  const port = numberAt(message, 'remote', 'port');
  return {
    time: String(facts.micros),
    time_iso: isoOf(facts.micros),
    activity_id: cell(String(facts.code)),
    activity_name: cell(facts.name),
    severity: facts.severity,
    status: facts.isFailure ? 'Failure' : 'Success',
    status_detail: cell(facts.detail),
    message: cell(facts.text),
    actor_name: cell(facts.actorName),
    actor_email: cell(facts.actorEmail),
    actor_type: cell(facts.actorType),
    src_ip: cell(textAt(message, 'remote', 'ip')),
    src_port: port === undefined ? '' : String(port + 0),
    flow_id: facts.flow ?? '',
    target_name: cell(facts.target),
    file_name: cell(facts.file),
    extra_map: extra?.kind === 'object' && extra.members.length > 0 ? printTree(extra) : '',
  };
}

function hasDoubledNames(event: Node): boolean {
  const message = memberOf(event, 'message');
  const places = [event, message, ...['target', 'sender', 'extra'].map((name) => memberOf(message, name))];
  return places.some((place) => {
    const names = place?.kind === 'object' ? place.members.map(({ name }) => name) : [];
    return new Set(names).size < names.length;
  });
}

/** The expected result for an accepted event. */
export function expectedOf(event: Node, options: ModelOptions): Expected {
  const stored = redactEvent(event, options.hides);
  const facts = factsOf(stored);
  return {
    source: printTree(stored),
    micros: facts.micros,
    audit: auditOf(facts, options),
    csv: csvOf(facts),
    isAmbiguous: hasDoubledNames(event),
  };
}
