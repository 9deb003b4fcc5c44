import { parseNote, verifyNote } from './note.ts';
import type { Trust } from './trust.ts';

/** The files of a case: events with all that is needed to check them, in one .zip. docs/evidence.md describes them. */
export const caseFiles = {
  readme: 'README.txt',
  /** A `CaseHead`. */
  head: 'case.json',
  /** A signed note of the digest of `head`. */
  note: 'case.note',
  events: 'events.ndjson',
  /** A `CaseProof` for each event, in the same order. */
  proofs: 'proofs.ndjson',
  checkpoint: 'checkpoint',
  keys: 'keys.json',
} as const;

/** What a case is. The service signs it, so nobody can take an event out of the files, or put one in. */
export interface CaseHead {
  readonly auditlog_case: 1;
  readonly origin: string;
  readonly organization: { readonly id: string; readonly slug: string };
  readonly filters: Readonly<Record<string, string>>;
  /** The page with these filters. */
  readonly link: string;
  readonly made_at: string;
  readonly made_by: Readonly<Record<string, unknown>>;
  readonly events: number;
  /** The place of each event in the tree, in the order of the files. */
  readonly places: readonly number[];
  readonly checkpoint: { readonly events: number; readonly root: string; readonly signed_at: string };
}

/**
 * The answer of …/evidence/proof for an event. `shown` is the SHA-256 of `rendering`, which is that of the varying part of the event
 * in `events`, and behind it `columns`; all in base64.
 */
export interface CaseProof {
  readonly position: number;
  readonly seq: string;
  readonly time: number;
  readonly entry: string;
  readonly source: string;
  readonly shown: string;
  readonly proof: string;
  readonly rendering: string;
  readonly columns: string;
}

/** No checkpoint reads so, as its second line is a number. */
export function caseText(origin: string, digest: Buffer): string {
  return `auditlog evidence: a case file\n${origin}\n${digest.toString('base64')}\n`;
}

/** Whether a trusted key has signed for this digest. Throws a NoteError without a trusted signature. */
export function isSignedCase(note: string, origin: string, digest: Buffer, trust: Trust): boolean {
  const parsed = parseNote(note);
  verifyNote(parsed, trust.keysOf(origin));
  return parsed.text === caseText(origin, digest);
}
