import { Problem } from '../../base/errors/problem.ts';
import { formatMicros } from '../../base/time/timestamp.ts';
import { eventHead } from '../../ocsf/envelope.ts';
import { caseFiles, isSignedCase } from '../../tlog/case.ts';
import { type Entry, entryAt, entryBytes, isEntryOf } from '../../tlog/entry.ts';
import { leafHash, sha256 } from '../../tlog/hash.ts';
import { NoteError } from '../../tlog/note.ts';
import { parseProofText } from '../../tlog/proof-text.ts';
import type { Trust } from '../../tlog/trust.ts';
import { isIncluded } from '../../tlog/tree.ts';
import { caseHead, caseProof, neededFile } from './case-files.ts';
import { Checkpoints, readTrust, type TrustOptions } from './checkpoints.ts';
import { findingAt, type Report } from './report.ts';

type Finding = Report['findings'][number];

interface Proven {
  readonly position: number;
  readonly bytes: Buffer;
  readonly entry: Entry;
  readonly source: Buffer;
  /** In base64. */
  readonly rendering: string;
  readonly columns: Buffer;
}

const splitLines = (bytes: Buffer): string[] => bytes.toString().split('\n').slice(0, -1);

/** Throws a NoteError without a trusted signature. */
export async function verifyCase(files: ReadonlyMap<string, Buffer>, options: TrustOptions): Promise<Report> {
  const published = neededFile(files, caseFiles.keys).toString();
  const trust = await readTrust({ key: [...(options.key ?? []), published] });
  if (trust === undefined)
    throw new Problem('malformed', 'a case is verified with the public key of the log: give --key');
  const checkpoints = new Checkpoints(trust);
  checkpoints.add(neededFile(files, caseFiles.checkpoint).toString());
  const findings: Finding[] = [];
  const places = readPlaces(files, trust, checkpoints.origin, findings);
  const proofs = checkProofs(files, checkpoints, findings);
  const lines = splitLines(neededFile(files, caseFiles.events));
  findings.push(...new Comparison(places, proofs, lines).findings);
  const notes = [
    'whether these are all events of the filters, only the signature of the service says; "verify" of an export with --evidence proves it',
  ];
  if (findings.some(({ kind }) => kind === 'altered'))
    notes.push('whether a person was erased from an event, "verify --org" and exports with --evidence tell');
  return {
    origin: checkpoints.origin,
    events: lines.length,
    covered: checkpoints.covered,
    findings,
    confirm: [],
    notes,
  };
}

function readPlaces(
  files: ReadonlyMap<string, Buffer>,
  trust: Trust,
  origin: string,
  findings: Finding[],
): readonly number[] {
  const bytes = neededFile(files, caseFiles.head);
  const head = caseHead(bytes);
  if (head.origin !== origin)
    throw new NoteError(`the case is one of ${head.origin}, and its checkpoint of ${origin}`);
  const note = neededFile(files, caseFiles.note).toString();
  if (!isSignedCase(note, origin, sha256(bytes), trust))
    findings.push({ kind: 'unproven', detail: `${caseFiles.head} is not as the service signed it` });
  return head.places;
}

function checkProofs(
  files: ReadonlyMap<string, Buffer>,
  checkpoints: Checkpoints,
  findings: Finding[],
): ReadonlyMap<number, Proven> {
  const proofs = new Map<number, Proven>();
  const checkpoint = neededFile(files, caseFiles.checkpoint).toString();
  for (const [n, line] of splitLines(neededFile(files, caseFiles.proofs)).entries()) {
    const proof = caseProof(line);
    const bytes = Buffer.from(proof?.entry ?? '', 'base64');
    if (proof === undefined || bytes.length !== entryBytes) {
      findings.push({ kind: 'unproven', detail: `line ${n + 1} of ${caseFiles.proofs} is no proof` });
      continue;
    }
    const { index: position, hashes, checkpoint: own } = parseProofText(proof.proof);
    const entry = entryAt(bytes, 0);
    const [tree] = checkpoints.heads;
    if (own !== checkpoint || tree === undefined || !isIncluded(leafHash(bytes), position, tree, hashes)) {
      findings.push(findingAt('contradicted', position, entry, 'is not in the tree that was signed for'));
      continue;
    }
    const [source, columns] = [Buffer.from(proof.source), Buffer.from(proof.columns, 'base64')];
    proofs.set(position, { position, bytes, entry, source, rendering: proof.rendering, columns });
  }
  return proofs;
}

/** The varying part of an event; undefined if it is no event. */
function cutRendering(line: string): string | undefined {
  const [, varying] =
    /^(.*)"logged_time":\d+,"product":\{"name":"(?:[^"\\]|\\.)*","vendor_name":"(?:[^"\\]|\\.)*"\},"version":"1\.1\.0"\}\}$/.exec(
      line,
    ) ?? [];
  if (varying?.startsWith(eventHead) !== true) return undefined;
  return sha256(Buffer.from(varying.slice(eventHead.length))).toString('base64');
}

function isAsRecorded({ bytes, source, rendering, columns }: Proven): boolean {
  const shown = sha256(Buffer.concat([Buffer.from(rendering, 'base64'), columns]));
  return isEntryOf(bytes, 0, { source, shown });
}

/**
 * Compares the events of the case with the lines, side by side. Where they differ, one that occurs later in the other list means
 * an inserted line or a removed event; one that occurs nowhere was altered.
 */
class Comparison {
  readonly findings: Finding[] = [];
  readonly #places: readonly number[];
  readonly #proofs: ReadonlyMap<number, Proven>;
  readonly #lines: readonly string[];
  readonly #expected: readonly (string | undefined)[];
  readonly #actual: readonly (string | undefined)[];

  constructor(places: readonly number[], proofs: ReadonlyMap<number, Proven>, lines: readonly string[]) {
    this.#places = places;
    this.#proofs = proofs;
    this.#lines = lines;
    this.#expected = places.map((position) => proofs.get(position)?.rendering);
    this.#actual = lines.map(cutRendering);
    this.#compare();
    for (const [position, { entry }] of proofs)
      if (!places.includes(position))
        this.findings.push(findingAt('added', position, entry, 'has a proof, and was not in the case'));
  }

  #compare(): void {
    let event = 0;
    let line = 0;
    while (event < this.#expected.length || line < this.#actual.length) {
      const what = this.#lookAt(event, line);
      if (what === 'same') this.#check(event);
      else if (what === 'added') this.#addedLine(line);
      else if (what === 'missing') this.#missing(event, line);
      else this.#altered(event);
      if (what !== 'added') event += 1;
      if (what !== 'missing') line += 1;
    }
  }

  #lookAt(event: number, line: number): 'same' | 'added' | 'missing' | 'altered' {
    const [expected, actual] = [this.#expected[event], this.#actual[line]];
    if (event >= this.#expected.length) return 'added';
    if (line >= this.#actual.length) return 'missing';
    if (expected !== undefined && expected === actual) return 'same';
    if (expected !== undefined && this.#actual.includes(expected, line)) return 'added';
    return actual !== undefined && this.#expected.includes(actual, event) ? 'missing' : 'altered';
  }

  #check(event: number): void {
    const proven = this.#proofs.get(this.#places[event] as number);
    if (proven !== undefined && !isAsRecorded(proven)) this.#altered(event);
  }

  #altered(event: number): void {
    this.#report(event, 'altered', 'is not what was recorded');
  }

  #missing(event: number, line: number): void {
    const isEarlier = this.#actual.slice(0, line).includes(this.#expected[event]);
    if (!isEarlier || this.#expected[event] === undefined)
      this.#report(event, 'missing', 'was taken out of the case');
  }

  #report(event: number, kind: Finding['kind'], what: string): void {
    const position = this.#places[event] as number;
    const proven = this.#proofs.get(position);
    this.findings.push(
      proven === undefined
        ? { kind: 'unproven', position, detail: `the event at place ${position} has no proof in the case` }
        : findingAt(kind, position, proven.entry, what),
    );
  }

  #addedLine(line: number): void {
    const [, time] = /"time":(\d{1,16}),/.exec(this.#lines[line] ?? '') ?? [];
    const when = time === undefined ? '' : ` (${formatMicros(Number(time))})`;
    const rendering = this.#actual[line];
    const isMoved = rendering !== undefined && this.#expected.includes(rendering);
    this.findings.push({
      kind: isMoved ? 'moved' : 'added',
      detail: `line ${line + 1} of ${caseFiles.events}${when} ${isMoved ? 'is not in its order' : 'was put in afterwards'}`,
    });
  }
}
