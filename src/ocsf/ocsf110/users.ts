import type { SourceReading } from '../source-fields.ts';
import { type Output, type Range, shared } from './output.ts';
import { isLong, isText, putMember, putToken, textIn } from './tokens.ts';

/** Name and address; 0, 0: none. */
export interface PutUser extends Range {
  readonly name: Range;
  readonly email: Range;
  /** The part that the text does not hold as sent. */
  readonly lossy: 'nothing' | 'type' | 'more';
}

export interface UserSlots {
  readonly uid: number;
  readonly name: number;
  readonly email: number;
  readonly type: number;
}

export interface UserObservables {
  readonly name: Range;
  readonly email: Range;
}

const json = {
  name: shared.add(',"name":"'),
  uid: shared.add(',"uid":"'),
  email: shared.add(',"email_addr":"'),
  typeOther: shared.add(',"type_id":99,"type":"'),
  unknown: shared.add('{"name":"Unknown","type_id":0,"type":"Unknown"}'),
};
const user = shared.add(',"type_id":1,"type":"User"');
const admin = shared.add(',"type_id":2,"type":"Admin"');
const system = shared.add(',"type_id":3,"type":"System"');

/** Types of users by the producer's word, in lower case. */
const types: ReadonlyMap<string, Range> = new Map([
  ['user', user],
  ['admin', admin],
  ['administrator', admin],
  ['system', system],
  ['app/system', system],
  ['service', system],
  ['app', system],
]);
const captions = new Set(['User', 'Admin', 'System']);

const emailPattern = /^[a-zA-Z0-9_.+-]+@[a-zA-Z0-9-]+\.[a-zA-Z0-9-.]+$/;

export const isEmailAddress = (text: string): boolean => emailPattern.test(text);

const nowhere: Range = { start: 0, end: 0 };

/** For classes that need a user when none is known. */
export function putUnknownUser(out: Output): void {
  out.put(json.unknown);
}

/** Undefined without name, address and id. An address serves as a missing name. */
export function putUser(out: Output, r: SourceReading, slots: UserSlots): PutUser | undefined {
  const shown = isText(r, slots.name) ? slots.name : slots.email;
  const hasName = isText(r, shown);
  if (!hasName && !isText(r, slots.uid)) return undefined;
  const start = out.length;
  const name = hasName ? putShown(out, r, shown) : nowhere;
  putMember(out, r, slots.uid, json.uid);
  const address = isLong(r, slots.email) ? undefined : textIn(r, slots.email);
  const isAddress = address !== undefined && emailPattern.test(address);
  const email = isAddress ? putText(out, json.email, address) : nowhere;
  const isTypeWhole = putType(out, r, slots.type);
  out.closeObject(start);
  const isEmailWhole = address === undefined || isAddress || shown === slots.email;
  const isCut = isLong(r, shown) || isLong(r, slots.uid) || isLong(r, slots.email);
  const lossy = isCut || !isEmailWhole ? 'more' : isTypeWhole ? 'nothing' : 'type';
  return { start, end: out.length, name, email, lossy };
}

function putShown(out: Output, r: SourceReading, at: number): Range {
  out.put(json.name);
  const start = out.length;
  putToken(out, r, at);
  const end = out.length;
  out.quote();
  return { start, end };
}

/** Returns the range of the text. */
function putText(out: Output, opening: Range, text: string): Range {
  out.put(opening);
  const start = out.length;
  out.text(text);
  const end = out.length;
  out.quote();
  return { start, end };
}

function putType(out: Output, r: SourceReading, at: number): boolean {
  const type = textIn(r, at);
  if (type === undefined) return true;
  const known = types.get(type) ?? types.get(type.toLowerCase());
  if (known === undefined) {
    putMember(out, r, at, json.typeOther);
    return !isLong(r, at);
  }
  out.put(known);
  return captions.has(type);
}

export function putNamedUser(out: Output, text: string): PutUser {
  const start = out.length;
  const token = JSON.stringify(text).slice(1, -1);
  const name = putText(out, json.name, token);
  const email = emailPattern.test(text) ? putText(out, json.email, text) : nowhere;
  out.closeObject(start);
  return { start, end: out.length, name, email, lossy: 'nothing' };
}

export function isUserType(type: string | undefined): boolean {
  return type !== undefined && types.has(type.toLowerCase());
}

export function observeUser(out: Output, { name, email }: PutUser, types: UserObservables): void {
  if (name.end > 0) out.observe(types.name, name.start, name.end);
  if (email.end > 0) out.observe(types.email, email.start, email.end);
}
