import { kind, type SourceReading, slot } from '../source-fields.ts';
import { type Output, type Range, shared } from './output.ts';
import { has, isLong, isText, putRaw } from './tokens.ts';

const rowsOf = (names: Readonly<Record<string, number>>): readonly (readonly [number, Range])[] =>
  Object.entries(names).map(([name, at]) => [at, shared.add(`,"${name}":`)]);

/** Fields that `unmapped` always has as sent. */
const kept = rowsOf({ target: slot.target, sender: slot.sender, extra: slot.extra, org: slot.org });

/** Fields that attributes hold whole unless unusual. */
const keptWhereLossy = rowsOf({
  time: slot.time,
  level: slot.level,
  msg: slot.msg,
  actor: slot.actor,
  action: slot.action,
  result: slot.result,
  remote: slot.remote,
  log: slot.log,
});

const json = {
  ofMessage: shared.add(',"message":'),
  ofEvent: shared.add(',"event":'),
  actorType: shared.add(',"actor":{"type":'),
  close: shared.add('}'),
};

/** By slot: 1 if attributes do not hold the field whole, 2 if only an actor's type is missing. */
export type Lossy = Uint8Array;
export const newLossy = (): Lossy => new Uint8Array(slot.fileHash + 1);
export const onlyType = 2;

export function markLossy(r: SourceReading, lossy: Lossy): void {
  const { kinds } = r;
  if (has(r, slot.timestamp)) lossy[slot.time] = 1;
  if (has(r, slot.resultTitle) || has(r, slot.resultDescription)) lossy[slot.result] = 1;
  if (isTooLong(r, slot.level)) lossy[slot.level] = 1;
  if (isTooLong(r, slot.msg)) lossy[slot.msg] = 1;
  if (isTooLong(r, slot.resultDetail) || kinds[slot.resultCode] === kind.number) lossy[slot.result] = 1;
  if (isTooLong(r, slot.logProvider) || isTooLong(r, slot.logVersion)) lossy[slot.log] = 1;
  if (kinds[slot.port] === kind.number) lossy[slot.remote] = 1;
  if (kinds[slot.action] === kind.number || kinds[slot.actionCode] === kind.number) lossy[slot.action] = 1;
}

const isTooLong = (r: SourceReading, at: number): boolean => isText(r, at) && isLong(r, at);

export function putUnmappedFields(out: Output, r: SourceReading, lossy: Lossy): void {
  const others = r.others ?? [];
  for (let at = 0; at < others.length; at += 3) {
    const owner = others[at] as number;
    if (owner >= 0) lossy[owner] = 1;
  }
  for (const [at, name] of kept) {
    if (!has(r, at)) continue;
    out.put(name);
    putRaw(out, r, at);
  }
  for (const [at, name] of keptWhereLossy) {
    if (lossy[at] === 0 || !has(r, at)) continue;
    if (lossy[at] === onlyType) {
      out.put(json.actorType);
      putRaw(out, r, slot.actorType);
      out.put(json.close);
    } else {
      out.put(name);
      putRaw(out, r, at);
    }
  }
  if (others.length > 0) {
    putOthers(out, others, slot.message, json.ofMessage);
    putOthers(out, others, -1, json.ofEvent);
  }
}

function putOthers(out: Output, others: readonly number[], owner: number, name: Range): void {
  let start = -1;
  for (let at = 0; at < others.length; at += 3) {
    if (others[at] !== owner) continue;
    if (start < 0) {
      out.put(name);
      start = out.length;
    }
    out.comma();
    out.range(others[at + 1] as number, others[at + 2] as number);
  }
  if (start >= 0) out.closeObject(start);
}
