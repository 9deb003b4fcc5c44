import * as fc from 'fast-check';
import type { Piece } from '../../src/ocsf/byte-sink.ts';
import { fromByteText, toWindow } from '../../src/ocsf/byte-text.ts';
import { Mapper, type MappedEvent } from '../../src/ocsf/audit-event.ts';
import { Redaction } from '../../src/ocsf/redact.ts';
import { namesOf } from '../support/names.ts';

export const redactKeys = [
  'password',
  'mfa_secret',
  'otp',
  'secret',
  'token',
  'authorization',
  'session_token',
  'access_token',
];

export const organization = { id: '0b5e2a34-9a66-4a6f-8f5d-2f4f7f6f9a01', retentionDays: 65_000 };

const mapper = new Mapper({ appName: 'Test "App"', redaction: new Redaction(redactKeys) });

/** Maps an event given as text or as a value. */
export function map(event: unknown): Row | string {
  return mapText(mapper, typeof event === 'string' ? event : JSON.stringify(event));
}

/** Maps a text by a mapper of byte text, and gives the row's strings back as text. */
export function mapText(
  mapper: Mapper,
  text: string,
  resolve: Parameters<Mapper['map']>[3] = () => organization,
): Row | string {
  const window = toWindow(text);
  const row = mapper.map(window, 0, window.text.length, (reference) =>
    resolve(reference === undefined ? undefined : fromByteText(reference)),
  );
  return typeof row === 'string' ? row : decoded(row);
}

/** A mapped event with texts for its pieces. */
export interface Row
  extends Omit<
    MappedEvent,
    | 'activityName'
    | 'level'
    | 'actorEmail'
    | 'actorId'
    | 'names'
    | 'fileHashes'
    | 'fileName'
    | 'targetName'
    | 'flowId'
    | 'ocsf'
    | 'source'
  > {
  readonly activityName: string;
  readonly level: string;
  readonly actorEmail: string;
  readonly actorId: string;
  readonly names: string[];
  readonly fileHashes: string[];
  readonly fileName: string;
  readonly targetName: string;
  readonly flowId: string;
  readonly ocsf: string;
  readonly source: string;
}

/** Without a copy of `bytes`: that is a whole arena. */
const textOf = ({ bytes, start, end }: Piece): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');

function pieceOf(text: string): Piece {
  const bytes = Buffer.from(`<${text}>`);
  return { bytes, start: 1, end: bytes.length - 1 };
}

export function decoded(row: MappedEvent): Row {
  return {
    ...row,
    activityName: textOf(row.activityName),
    level: textOf(row.level),
    actorEmail: textOf(row.actorEmail),
    actorId: textOf(row.actorId),
    names: row.names.map(textOf),
    fileHashes: row.fileHashes.map(textOf),
    fileName: textOf(row.fileName),
    targetName: textOf(row.targetName),
    flowId: textOf(row.flowId),
    ocsf: textOf(row.ocsf),
    source: textOf(row.source),
  };
}

export function encoded(row: Row): MappedEvent {
  return {
    ...row,
    activityName: pieceOf(row.activityName),
    level: pieceOf(row.level),
    actorEmail: pieceOf(row.actorEmail),
    actorId: pieceOf(row.actorId),
    names: row.names.map(pieceOf),
    fileHashes: row.fileHashes.map(pieceOf),
    fileName: pieceOf(row.fileName),
    targetName: pieceOf(row.targetName),
    flowId: pieceOf(row.flowId),
    ocsf: pieceOf(row.ocsf),
    source: pieceOf(row.source),
  };
}

/** As `map`, for events that must be accepted. */
export function mapped(event: unknown): Row {
  const row = map(event);
  if (typeof row === 'string') throw new Error(`refused: ${row}`);
  return row;
}

/** A minimal accepted event with further members of `message`. */
export function eventWith(message: object = {}, others: object = {}) {
  return { time: 0, message: { action: 1001, ...message }, ...others };
}

export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** Text that JSON can hold and we accept: no NUL, no lone surrogate. */
export const storableString = fc
  .string({
    unit: fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
      fc.constantFrom('"', '\\', '\n', '\u001f', '\u2028'),
    ),
  })
  .filter((text) => isWellFormed(text) && !text.includes('\0'));

/** Names of members that JSON can hold and we accept. */
export const storableName = namesOf(storableString);

export const storableJson = fc.letrec<{ value: unknown; leaf: unknown }>((tie) => ({
  leaf: fc.oneof(
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    storableString,
  ),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(storableName, tie('value'), { maxKeys: 4 }),
  ),
})).value;

const whitespace = fc.constantFrom('', ' ', '\n', '\t', '\r', ' \n  ');

/** JSON text of a value with random white space and escapes. */
export function spelledJson(value: fc.Arbitrary<unknown>): fc.Arbitrary<{ value: unknown; text: string }> {
  return fc
    .tuple(
      value,
      fc.array(whitespace, { minLength: 1, maxLength: 8 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 16 }),
    )
    .map(([value, spaces, escapes]) => {
      let turn = 0;
      const gap = () => spaces[turn++ % spaces.length] ?? '';
      const unit = (code: number) => `\\u${code.toString(16).padStart(4, '0')}`;
      const string = (text: string) => {
        const characters = Array.from(text, (character) => {
          if (escapes[turn++ % escapes.length] !== true) return JSON.stringify(character).slice(1, -1);
          return Array.from({ length: character.length }, (_, at) => unit(character.charCodeAt(at))).join('');
        });
        return `"${characters.join('')}"`;
      };
      const spell = (node: unknown): string => {
        if (typeof node === 'string') return gap() + string(node) + gap();
        if (Array.isArray(node))
          return `${gap()}[${node.length === 0 ? gap() : node.map(spell).join(',')}]${gap()}`;
        if (typeof node !== 'object' || node === null) return gap() + JSON.stringify(node) + gap();
        const members = Object.entries(node).map(
          ([name, item]) => `${gap()}${string(name)}${gap()}:${spell(item)}`,
        );
        return `${gap()}{${members.length === 0 ? gap() : members.join(',')}}${gap()}`;
      };
      return { value, text: spell(value) };
    });
}
