import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { sha256 } from './hash.ts';

/** Signed notes (C2SP signed-note) with Ed25519 keys. */

const ed25519 = 0x01;

const keyBytes = 32;
const signatureBytes = 64;
const idBytes = 4;
/** More signatures than any checkpoint has are refused. */
const signaturesMax = 64;

/** DER around a private and a public key (RFC 8410). */
const privateHead = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicHead = Buffer.from('302a300506032b6570032100', 'hex');

/** Neither spaces nor plus signs (C2SP signed-note). */
const namePattern = /^[^\s\p{Zs}+]+$/u;

export interface Signer {
  readonly name: string;
  /** For verifiers: `name+id+key`. */
  readonly verifierKey: string;
  sign(text: string): string;
}

export interface Verifier {
  readonly name: string;
  readonly id: string;
  readonly verifierKey: string;
  /** Throws NoteError if the signature does not match. */
  check(text: string, signature: Buffer): void;
}

export class NoteError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NoteError';
  }
}

function keyId(name: string, publicKey: Buffer): Buffer {
  const text = Buffer.concat([Buffer.from(`${name}\n`), Buffer.from([ed25519]), publicKey]);
  return sha256(text).subarray(0, idBytes);
}

function verifierKeyOf(name: string, publicKey: Buffer): string {
  const material = Buffer.concat([Buffer.from([ed25519]), publicKey]).toString('base64');
  return `${name}+${keyId(name, publicKey).toString('hex')}+${material}`;
}

const privateKeyFrom = (seed: Buffer): KeyObject =>
  createPrivateKey({ key: Buffer.concat([privateHead, seed]), format: 'der', type: 'pkcs8' });
const publicKeyFrom = (publicKey: Buffer): KeyObject =>
  createPublicKey({ key: Buffer.concat([publicHead, publicKey]), format: 'der', type: 'spki' });

export function publicKeyOfSeed(seed: Buffer): Buffer {
  const der = createPublicKey(privateKeyFrom(seed)).export({ format: 'der', type: 'spki' });
  return der.subarray(publicHead.length);
}

function checkName(name: string): void {
  if (!namePattern.test(name)) throw new NoteError(`"${name}" is no name of a key`);
}

function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

export function createSigner(name: string, seed: Buffer): Signer {
  checkName(name);
  const key = privateKeyFrom(seed);
  const publicKey = publicKeyOfSeed(seed);
  const id = keyId(name, publicKey);
  return {
    name,
    verifierKey: verifierKeyOf(name, publicKey),
    sign: (text) =>
      signedNote(text, [signatureLine(name, Buffer.concat([id, sign(null, Buffer.from(text), key)]))]),
  };
}

/** The format of Go's `note` package, `PRIVATE+KEY+name+id+key`. */
export function signerKey(name: string, seed: Buffer): string {
  checkName(name);
  const id = keyId(name, publicKeyOfSeed(seed)).toString('hex');
  const material = Buffer.concat([Buffer.from([ed25519]), seed]).toString('base64');
  return `PRIVATE+KEY+${name}+${id}+${material}`;
}

export function parseSeed(text: string): Buffer | undefined {
  const [, name = '', material = ''] =
    /^PRIVATE\+KEY\+([^+\s]+)\+[0-9a-f]{8}\+(\S+)$/.exec(text.trim()) ?? [];
  const seed = fromBase64(material)?.subarray(1);
  return seed?.length === keyBytes && signerKey(name, seed) === text.trim() ? seed : undefined;
}

function signatureLine(name: string, signature: Buffer): string {
  return `\u2014 ${name} ${signature.toString('base64')}\n`;
}

/** `text` must end in a line feed. */
export function signedNote(text: string, lines: readonly string[]): string {
  if (!text.endsWith('\n')) throw new NoteError('the text of a note ends with a line');
  return `${text}\n${lines.join('')}`;
}

export function verifierKeyFor(name: string, publicKey: Buffer): string {
  checkName(name);
  return verifierKeyOf(name, publicKey);
}

export const publicKeyIn = (verifierKey: string): Buffer => parsed(verifierKey).publicKey;

function parsed(verifierKey: string) {
  const [name = '', id = '', material = '', ...more] = verifierKey.trim().split('+');
  const bytes = fromBase64([material, ...more].join('+'));
  const type = bytes?.[0];
  const publicKey = bytes?.subarray(1);
  checkName(name);
  if (type !== ed25519 || publicKey?.length !== keyBytes)
    throw new NoteError(`"${verifierKey}" is no key of Ed25519`);
  if (keyId(name, publicKey).toString('hex') !== id)
    throw new NoteError(`the key "${verifierKey}" does not have its own id`);
  return { name, id, publicKey };
}

/** Throws NoteError. */
export function parseVerifierKey(text: string): Verifier {
  const { name, id, publicKey } = parsed(text);
  const key = publicKeyFrom(publicKey);
  return {
    name,
    id,
    verifierKey: text.trim(),
    check(noteText, signature) {
      if (signature.length !== signatureBytes || !verify(null, Buffer.from(noteText), key, signature))
        throw new NoteError(`the signature of ${name} is not one of its key ${id}`);
    },
  };
}

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

const hasControls = (text: string): boolean => /[^\n -\u{10FFFF}]/u.test(text);

/** Does not verify signatures; throws NoteError. */
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

/**
 * Verifies the signatures of known keys (C2SP signed-note). Throws NoteError if one is wrong, or none is
 * known.
 */
export function verifyNote(note: Note, known: readonly Verifier[]): void {
  let isSigned = false;
  for (const { name, id, signature } of note.signatures) {
    const verifier = known.find((one) => one.name === name && one.id === id);
    verifier?.check(note.text, signature);
    isSigned ||= verifier !== undefined;
  }
  if (isSigned) return;
  const names = note.signatures.map(({ name, id }) => `${name}+${id}`).join(', ');
  throw new NoteError(`none of the known keys has signed this; it is signed by ${names}`);
}
