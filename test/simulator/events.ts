import { isUtf8 } from 'node:buffer';
import * as fc from 'fast-check';
import { eventNode } from '../fuzz/arbitrary.ts';
import { type Expected, expectedOf } from '../fuzz/model.ts';
import { mutated } from '../fuzz/mutate.ts';
import { leaf, memberOf, type Node, parseTree, printTree } from '../fuzz/tree.ts';
import type { Draw } from './draw.ts';
import { limits } from './limits.ts';
import { dayMicros, type ModelEvent, type ModelOrganization, names, type Person } from './model.ts';

/** Source events, each with its id in it. */

/** Part of every secret: no answer and no file may have it. */
export const secretMark = 'hush-hush-';

export const idPattern = /sim=([a-z0-9]+)\.(\d+)\.(\d+)=/g;

/** The id of the first event in a text. */
export function idIn(text: string): string | undefined {
  return /sim=([a-z0-9]+\.\d+\.\d+)=/.exec(text)?.[1];
}

export type Kind = 'plain' | 'person' | 'secret' | 'rich' | 'big' | 'large' | 'statement' | 'damaged';

interface Place {
  readonly organization: ModelOrganization;
  readonly batch: number;
  readonly index: number;
  readonly beganMicros: number;
  readonly ageDays: number;
  /** The body has a line for each event, so invalid JSON affects no other. */
  readonly isLines?: boolean;
}

const hourMicros = dayMicros / 24;

function uuid(draw: Draw): string {
  const hex = (length: number) => Array.from({ length }, () => draw.int(0, 15).toString(16)).join('');
  return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
}

/** Few distinct times, so that many events share one and the order of ingest decides. */
function microsOf(draw: Draw, { beganMicros, ageDays }: Place): number {
  const middleOfDay = Math.floor(beganMicros / dayMicros) * dayMicros + 12 * hourMicros - ageDays * dayMicros;
  return middleOfDay + (draw.chance(0.5) ? draw.int(0, 5) : draw.int(0, 1_000_000_000));
}

const actions = [1001, 1002, 2000, 2001, 2003, 3001, 6001, 9999, -7, 9_007_199_254_740_991];
/** Codes of the service's own policies, holds and erasures; from a producer they are ordinary events. */
const statements = [5013, 5014, 5015, 5016];

const fillerOf = ({ slug }: ModelOrganization, bytes: number): string =>
  `${slug}~`.repeat(Math.ceil(bytes / (slug.length + 1)));

function extraOf(draw: Draw, kind: Kind, { organization }: Place, persons: readonly Person[]): object {
  const filler = (bytes: number) => fillerOf(organization, bytes);
  if (kind === 'big') return { filler: filler(draw.int(limits.bigEventBytes / 10, limits.bigEventBytes)) };
  if (kind === 'person')
    return { note: `seen by ${persons.map(({ email }) => email).join(' and ')}`, filler: filler(40) };
  if (kind === 'secret') {
    const secret = `${secretMark}${draw.int(0, 1e9)}${'x'.repeat(draw.int(0, 40))}`;
    return {
      'Pass-Word': secret,
      deep: [{ api_key: { inner: secret } }, { name: 'Authorization', value: secret }],
    };
  }
  if (kind === 'statement') {
    const policy = { version: draw.int(1, 9), days: draw.pick([1, 30, null]), held: draw.chance(0.5) };
    const erasure = {
      id: uuid(draw),
      pseudonym: `erased-${'0'.repeat(20)}`,
      events: 3,
      digest: 'A'.repeat(43),
    };
    return { policy, erasure };
  }
  const fileHash = draw.chance(0.2) && { fileHash: draw.pick(['AB12', 'h:1']) };
  return { filler: filler(draw.int(0, 300)), size: draw.int(0, 1e12), ...fileHash };
}

function isDoubled(node: Node): boolean {
  if (node.kind === 'leaf') return false;
  if (node.kind === 'list') return node.items.some(isDoubled);
  const names = node.members.map(({ name }) => name);
  return new Set(names).size < names.length || node.members.some(({ value }) => isDoubled(value));
}

/** A random event with its id in `extra`. */
function richTree(draw: Draw, id: string, micros: number): Node {
  const arbitrary = eventNode({ fromMicros: micros, lengthMicros: 1 });
  const [drawn] = fc.sample(arbitrary, { seed: draw.int(0, 1e9), numRuns: 1 });
  if (drawn?.kind !== 'object') throw new Error('an event is an object');
  const mark = { token: '"sim"', name: 'sim', value: leaf(JSON.stringify(`sim=${id}=`)) };
  const marked = (node: Node): Node =>
    node.kind === 'object'
      ? { ...node, members: [mark, ...node.members.filter(({ name }) => name !== 'sim')] }
      : node;
  const within = (node: Node, name: string, change: (value: Node) => Node): Node =>
    node.kind === 'object'
      ? {
          ...node,
          members: node.members.map((one) =>
            one.name === name ? { ...one, value: change(one.value) } : one,
          ),
        }
      : node;
  return within(drawn, 'message', (message) => within(message, 'extra', marked));
}

function richText(draw: Draw, place: Place, id: string, micros: number): string {
  const tree = richTree(draw, id, micros);
  const gap = draw.chance(0.3) ? ' ' : '';
  // Readers may choose different ones of doubled names.
  return isDoubled(tree) || memberOf(memberOf(memberOf(tree, 'message'), 'extra'), 'sim') === undefined
    ? plainText(draw, place, id, micros, 'plain', [], uuid(draw))
    : printTree(tree, () => gap);
}

/** The service's result for these bytes; undefined: it must refuse them. */
function expectedOfBytes(bytes: Buffer, hides: (name: string) => boolean): Expected | undefined {
  if (!isUtf8(bytes)) return undefined;
  try {
    return expectedOf(parseTree(bytes.toString()), { ...names, hides });
  } catch {
    return undefined;
  }
}

type Damaged = Pick<ModelEvent, 'damaged' | 'text' | 'micros' | 'ageDays'>;

/**
 * Damages an event's structure or bytes. Undefined if its id is lost, the whole body would be damaged, or its new
 * time is near the end of a drawn retention.
 */
function damagedParts(draw: Draw, place: Place, id: string, micros: number): Damaged | undefined {
  const { organization, isLines = false, beganMicros } = place;
  const drawn = mutated(richTree(draw, id, micros), () => draw.next());
  const damaged = isLines ? Buffer.from(drawn.map((byte) => (byte === 0x0a ? 0x20 : byte))) : drawn;
  const text = damaged.toString();
  const expected = expectedOfBytes(damaged, organization.hides);
  const marks = Array.from(text.matchAll(idPattern), ([mark]) => mark);
  if (text.trim() === '' || marks.some((mark) => mark !== `sim=${id}=`)) return undefined;
  if (expected === undefined)
    return isLines || isJson(text) ? { damaged, text, micros: -1, ageDays: 0 } : undefined;
  const { audit, source, csv } = expected;
  if ([audit, source, csv['extra_map'] ?? ''].some((way) => idIn(way) !== id)) return undefined;
  const ageDays = Math.floor((beganMicros - expected.micros) / dayMicros);
  const isFar = ageDays > 25 && ageDays % 100 > 25 && ageDays % 100 < 75;
  return isFar ? { damaged, text, micros: expected.micros, ageDays } : undefined;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Spellings that some code may confuse: other letters, other characters, escaped ones. */
const ids = ['id-1', 'ID-1', 'id-2', 'Ω', 'ω', '7'];
const users = [
  'ΣΊΣΥΦΟΣ@ΕΛΛΆΔΑ.gr',
  'σίσυφος@ελλάδα.gr',
  'İlker@firma.tr',
  'i\u0307lker@firma.tr',
  'straße@ß.example',
];
const files = [
  'report.pdf',
  'Report.pdf',
  'Report .pdf',
  'Größe.txt',
  'größe.TXT',
  '報告書.pdf',
  'ǅ.txt',
  'ǆ.txt',
  '𐐀.txt',
  '𐐨.txt',
  'plan "B".txt',
  "it's 100% \\ sure,%2C.txt",
  'a/b?c=d&e+f.txt',
  'new\nline.txt',
  '🎉.png',
  'e\u0301.txt',
  'é.txt',
];
const addresses = [
  '192.0.2.1',
  '192.0.2.77',
  '::ffff:192.0.2.77',
  '10.1.2.255',
  '2001:db8::1',
  '2001:0DB8:0:0::1',
  '10.1.2',
  'AWS Internal',
];

/** Actor, action, file and address from few values in any form, so that filters match some events. */
function messageParts(draw: Draw, { organization }: Place, persons: readonly Person[]): object {
  const usual = `user-${draw.int(1, 5)}@${organization.slug}.example`;
  const email = persons[0]?.email ?? (draw.chance(0.2) ? draw.pick(users) : usual);
  const isPlain = persons.length > 0 || draw.chance(0.5);
  const name = draw.pick(files);
  return {
    actor: isPlain
      ? email
      : { id: draw.pick(ids), email: draw.pick([email, email.toUpperCase()]), type: 'User' },
    target: draw.pick([name, { name, type: 'file', id: 'report.pdf' }]),
    ...(draw.chance(0.4) && {
      sender: { file: draw.pick([...files, 'x.bin']), hash: draw.pick(['AB12', 'ab12', 'c3']), email: usual },
    }),
    ...(draw.chance(0.4) && { remote: { ip: draw.pick(addresses), port: 443 } }),
  };
}

function plainText(
  draw: Draw,
  place: Place,
  id: string,
  micros: number,
  kind: Kind,
  persons: readonly Person[],
  flow: string,
): string {
  const isSecret = kind === 'secret';
  const token = `${secretMark}${draw.int(0, 1e9)}`;
  const parts = messageParts(draw, place, persons);
  return JSON.stringify({
    ...(isSecret && { password: token, 'Session Token': [token] }),
    level: draw.pick(['INFO', 'WARN', 'ERROR', 'other']),
    // Stored but not shown, so answers stay small.
    ...(kind === 'large' && {
      attachment: fillerOf(place.organization, draw.int(limits.largeEventBytes / 2, limits.largeEventBytes)),
    }),
    message: {
      timestamp: micros,
      action: draw.pick(kind === 'statement' ? statements : actions),
      ...parts,
      ...(isSecret && {
        actor: { email: `user-${draw.int(1, 5)}@${place.organization.slug}.example`, sessionToken: token },
      }),
      result: { title: 'done', code: draw.pick([200, 201, 403, 500]) },
      flow_id: flow,
      extra: { sim: `sim=${id}=`, ...extraOf(draw, kind, place, persons) },
    },
  });
}

export function makeEvent(draw: Draw, kind: Kind, place: Place): ModelEvent {
  const { organization, batch, index, ageDays } = place;
  const id = `${organization.slug}.${batch}.${index}`;
  const micros = microsOf(draw, place);
  const flow = uuid(draw);
  const common = { id, micros, ageDays, persons: [] };
  const damaged = kind === 'damaged' ? damagedParts(draw, place, id, micros) : undefined;
  if (damaged !== undefined) return { ...common, ...damaged, flow: '' };
  if (kind === 'rich' || kind === 'damaged')
    return { ...common, text: richText(draw, place, id, micros), flow: '' };
  const free = organization.persons.filter(({ state }) => state === 'here');
  const persons =
    kind === 'person'
      ? [...new Set([draw.pickAny(free), draw.pickAny(free)])].filter((one) => one !== undefined)
      : [];
  return { ...common, text: plainText(draw, place, id, micros, kind, persons, flow), persons, flow };
}
