import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { sha256 } from './hash.ts';

/**
 * Signed notes (C2SP signed-note): a text, an empty line, and a line for each signature. Keys are Ed25519; a log signs
 * the text itself, a witness a header with its time and the text (C2SP tlog-cosignature).
 */

const ed25519 = 0x01;
const cosignature = 0x04;
type SignatureType = typeof ed25519 | typeof cosignature;

const keyBytes = 32;
const signatureBytes = 64;
const timeBytes = 8;
const idBytes = 4;
/** More signatures than a checkpoint can have by right; a note is refused before any of them is looked at. */
const signaturesMax = 64;

/** DER around a private and a public key (RFC 8410). */
const privateHead = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicHead = Buffer.from('302a300506032b6570032100', 'hex');

/** Neither spaces nor plus signs (C2SP signed-note). */
const namePattern = /^[^\s\p{Zs}+]+$/u;

export interface Signer {
  readonly name: string;
  /** As verifiers are given it: `name+id+key`. */
  readonly verifierKey: string;
  sign(text: string): string;
}

export interface Verifier {
  readonly name: string;
  readonly id: string;
  readonly verifierKey: string;
  /** The time of a witness's cosignature, Unix seconds; undefined where the signature is a log's. Throws NoteError. */
  check(text: string, signature: Buffer): number | undefined;
}

/** A note that is not one, or whose signature is not what it says it is. */
export class NoteError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NoteError';
  }
}

function keyId(name: string, type: SignatureType, publicKey: Buffer): Buffer {
  const text = Buffer.concat([Buffer.from(`${name}\n`), Buffer.from([type]), publicKey]);
  return sha256(text).subarray(0, idBytes);
}

function verifierKeyOf(name: string, type: SignatureType, publicKey: Buffer): string {
  const material = Buffer.concat([Buffer.from([type]), publicKey]).toString('base64');
  return `${name}+${keyId(name, type, publicKey).toString('hex')}+${material}`;
}

const privateKeyOf = (seed: Buffer): KeyObject =>
  createPrivateKey({ key: Buffer.concat([privateHead, seed]), format: 'der', type: 'pkcs8' });
const publicKeyOf = (publicKey: Buffer): KeyObject =>
  createPublicKey({ key: Buffer.concat([publicHead, publicKey]), format: 'der', type: 'spki' });

/** The 32 bytes of the public key of a seed. */
export function publicKeyOfSeed(seed: Buffer): Buffer {
  const der = createPublicKey(privateKeyOf(seed)).export({ format: 'der', type: 'spki' });
  return der.subarray(publicHead.length);
}

function checkName(name: string): void {
  if (!namePattern.test(name)) throw new NoteError(`"${name}" is no name of a key`);
}

/** Decodes base64 as it is written, and nothing like it. */
function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** Signs under a name with the key that is made of a seed of 32 bytes. */
export function createSigner(name: string, seed: Buffer): Signer {
  checkName(name);
  const key = privateKeyOf(seed);
  const publicKey = publicKeyOfSeed(seed);
  const id = keyId(name, ed25519, publicKey);
  return {
    name,
    verifierKey: verifierKeyOf(name, ed25519, publicKey),
    sign: (text) => signedNote(text, [lineOf(name, Buffer.concat([id, sign(null, Buffer.from(text), key)]))]),
  };
}

/** The private key as a file has it: the form of Go's `note` package, `PRIVATE+KEY+name+id+key`. */
export function signerKey(name: string, seed: Buffer): string {
  checkName(name);
  const id = keyId(name, ed25519, publicKeyOfSeed(seed)).toString('hex');
  const material = Buffer.concat([Buffer.from([ed25519]), seed]).toString('base64');
  return `PRIVATE+KEY+${name}+${id}+${material}`;
}

/** The seed in such a text; undefined for anything else. */
export function seedOf(text: string): Buffer | undefined {
  const [, name = '', material = ''] =
    /^PRIVATE\+KEY\+([^+\s]+)\+[0-9a-f]{8}\+(\S+)$/.exec(text.trim()) ?? [];
  const seed = fromBase64(material)?.subarray(1);
  return seed?.length === keyBytes && signerKey(name, seed) === text.trim() ? seed : undefined;
}

/** A witness, for tests and tools: its line for a text at a time (Unix seconds). */
export function cosign(name: string, seed: Buffer, text: string, seconds: number): string {
  checkName(name);
  const id = keyId(name, cosignature, publicKeyOfSeed(seed));
  const signature = sign(null, cosignedMessage(text, seconds), privateKeyOf(seed));
  return lineOf(name, Buffer.concat([id, timeOf(seconds), signature]));
}

function timeOf(seconds: number): Buffer {
  const bytes = Buffer.alloc(timeBytes);
  bytes.writeBigUInt64BE(BigInt(seconds));
  return bytes;
}

function cosignedMessage(text: string, seconds: number | bigint): Buffer {
  return Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`);
}

function lineOf(name: string, signature: Buffer): string {
  return `\u2014 ${name} ${signature.toString('base64')}\n`;
}

/** A text, which ends its last line, with lines of signatures. */
export function signedNote(text: string, lines: readonly string[]): string {
  if (!text.endsWith('\n')) throw new NoteError('the text of a note ends with a line');
  return `${text}\n${lines.join('')}`;
}

/** The key of a witness, as verifiers are given it. */
export function witnessKey(name: string, seed: Buffer): string {
  return verifierKeyOf(name, cosignature, publicKeyOfSeed(seed));
}

/** The key under which verifiers know a public key of 32 bytes: each log that it signs for has a name of its own. */
export function verifierKeyFor(name: string, publicKey: Buffer): string {
  checkName(name);
  return verifierKeyOf(name, ed25519, publicKey);
}

/** The 32 bytes of the public key in a verifier's key. */
export function publicKeyIn(verifierKey: string): Buffer {
  return parsed(verifierKey).publicKey;
}

function parsed(verifierKey: string) {
  const [name = '', id = '', material = '', ...more] = verifierKey.trim().split('+');
  // Base64 has plus signs, too.
  const bytes = fromBase64([material, ...more].join('+'));
  const type = bytes?.[0];
  const publicKey = bytes?.subarray(1);
  checkName(name);
  if ((type !== ed25519 && type !== cosignature) || publicKey?.length !== keyBytes)
    throw new NoteError(`"${verifierKey}" is no key of Ed25519`);
  if (keyId(name, type, publicKey).toString('hex') !== id)
    throw new NoteError(`the key "${verifierKey}" does not have its own id`);
  return { name, id, type, publicKey };
}

/** Reads a verifier's key, of a log or a witness; throws NoteError. */
export function parseVerifierKey(text: string): Verifier {
  const { name, id, type, publicKey } = parsed(text);
  const key = publicKeyOf(publicKey);
  const check = (message: Buffer, signature: Buffer): void => {
    if (signature.length !== signatureBytes || !verify(null, message, key, signature))
      throw new NoteError(`the signature of ${name} is not one of its key ${id}`);
  };
  return {
    name,
    id,
    verifierKey: text.trim(),
    check(noteText, signature) {
      if (type === ed25519) {
        check(Buffer.from(noteText), signature);
        return undefined;
      }
      if (signature.length < timeBytes) throw new NoteError(`the cosignature of ${name} has no time`);
      const seconds = signature.readBigUInt64BE(0);
      check(cosignedMessage(noteText, seconds), signature.subarray(timeBytes));
      return Number(seconds);
    },
  };
}

/** A signature on a note: by whom, and the bytes behind the id of its key. */
export interface NoteSignature {
  readonly name: string;
  readonly id: string;
  readonly signature: Buffer;
  readonly line: string;
}

export interface Note {
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** Characters below the space, other than the end of a line. */
const hasControls = (text: string): boolean => /[^\n -\u{10FFFF}]/u.test(text);

/** Takes a note apart without looking at who signed it; throws NoteError. */
export function parseNote(note: string): Note {
  const border = note.lastIndexOf('\n\n');
  const isText = border >= 0 && note.endsWith('\n') && !hasControls(note);
  if (!isText) throw new NoteError('this is no signed note');
  const lines = note
    .slice(border + 2)
    .split('\n')
    .slice(0, -1);
  if (lines.length === 0 || lines.length > signaturesMax)
    throw new NoteError(`a note has 1 to ${signaturesMax} signatures`);
  return { text: note.slice(0, border + 1), signatures: lines.map(parseSignature) };
}

function parseSignature(line: string): NoteSignature {
  const [dash, name = '', base64 = '', ...more] = line.split(' ');
  const bytes = fromBase64(base64);
  if (
    dash !== '\u2014' ||
    more.length > 0 ||
    !namePattern.test(name) ||
    bytes === undefined ||
    bytes.length <= idBytes
  )
    throw new NoteError('a line of the note is no signature');
  return {
    name,
    id: bytes.toString('hex', 0, idBytes),
    signature: bytes.subarray(idBytes),
    line: `${line}\n`,
  };
}

/** Who signed a note, of those that are known. */
export interface Signed {
  readonly verifier: Verifier;
  /** Unix seconds; undefined: the log itself. */
  readonly seconds: number | undefined;
}

/**
 * Checks all signatures of known keys; those of others are passed over (C2SP signed-note). Throws NoteError where one
 * is wrong, or where none is known.
 */
export function verifyNote(note: Note, known: readonly Verifier[]): Signed[] {
  const signed = note.signatures.flatMap(({ name, id, signature }) => {
    const verifier = known.find((one) => one.name === name && one.id === id);
    return verifier === undefined ? [] : [{ verifier, seconds: verifier.check(note.text, signature) }];
  });
  if (signed.length > 0) return signed;
  const names = note.signatures.map(({ name, id }) => `${name}+${id}`).join(', ');
  throw new NoteError(`none of the known keys has signed this; it is signed by ${names}`);
}
