import { type SourceReading, slot } from '../source-fields.ts';
import { fileSizeOf } from './context.ts';
import { observables } from './observed.ts';
import { type Output, type Range, shared } from './output.ts';
import { firstText, plainOr, putMember, putToken, textIn } from './tokens.ts';

const json = {
  named: shared.add(',"file":{"name":"'),
  unnamed: shared.add(',"file":{"name":"Unknown'),
  regular: shared.add('","type_id":1,"type":"Regular File"'),
  folder: shared.add('","type_id":2,"type":"Folder"'),
  uid: shared.add(',"uid":"'),
  size: shared.add(',"size":'),
  hashes: shared.add(',"hashes":['),
  hashEnd: shared.add('"}'),
  hashesEnd: shared.add(']'),
  close: shared.add('}'),
  unknownHash: shared.add('{"algorithm_id":0,"algorithm":"Unknown","value":"'),
};

const hashCharactersMax = 64;
/** Hexadecimal digits of the hash algorithms in the schema. */
const algorithms: ReadonlyMap<number, Range> = new Map([
  [32, shared.add('{"algorithm_id":1,"algorithm":"MD5","value":"')],
  [40, shared.add('{"algorithm_id":2,"algorithm":"SHA-1","value":"')],
  [64, shared.add('{"algorithm_id":3,"algorithm":"SHA-256","value":"')],
]);
const folders = new Set(['folder', 'directory']);

/** The sender's, otherwise the target. */
export function putFile(out: Output, r: SourceReading): void {
  const target = plainOr(r, slot.target, slot.targetName);
  const named = firstText(r, slot.senderFile, target, slot.targetId);
  out.put(named < 0 ? json.unnamed : json.named);
  if (named >= 0) {
    const start = out.length;
    putToken(out, r, named);
    out.observe(observables.fileName, start, out.length);
  }
  const isFolder = named !== slot.senderFile && folders.has(textIn(r, slot.targetType)?.toLowerCase() ?? '');
  out.put(isFolder ? json.folder : json.regular);
  const isTarget = named !== slot.senderFile || textIn(r, target) === textIn(r, named);
  if (isTarget) putMember(out, r, slot.targetId, json.uid);
  const size = fileSizeOf(r);
  if (size !== undefined) {
    out.put(json.size);
    out.text(size);
  }
  putHashes(out, r);
  out.put(json.close);
}

function putHashes(out: Output, r: SourceReading): void {
  const sent = hashIn(r, slot.senderHash);
  const extra = hashIn(r, slot.fileHash);
  const hashes = [sent, extra === sent ? undefined : extra].filter((one) => one !== undefined);
  if (hashes.length === 0) return;
  out.put(json.hashes);
  for (const [index, hash] of hashes.entries()) {
    if (index > 0) out.comma();
    const known = /^[0-9a-fA-F]+$/.test(hash) ? algorithms.get(hash.length) : undefined;
    out.put(known ?? json.unknownHash);
    const start = out.length;
    out.text(hash);
    out.observe(observables.fileHash, start, out.length);
    out.put(json.hashEnd);
  }
  out.put(json.hashesEnd);
}

/** An invalid hash stays in `unmapped`. */
function hashIn(r: SourceReading, at: number): string | undefined {
  const text = textIn(r, at);
  const isHash = text !== undefined && text.length <= hashCharactersMax && /^[\w:+/=.-]+$/.test(text);
  return isHash ? text : undefined;
}
