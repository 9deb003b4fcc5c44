import { parseNote, verifyNote } from './note.ts';
import type { Trust } from './trust.ts';

/** All that is needed to check events, in one .zip (docs/evidence.md). */
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

/** Signed by the service, so added and removed events show. */
export interface CaseHead {
  readonly auditlog_case: 1;
  readonly origin: string;
  readonly organization: { readonly id: string; readonly slug: string };
  readonly filters: Readonly<Record<string, string>>;
  /** To the page, with these filters. */
  readonly link: string;
  readonly made_at: string;
  readonly made_by: Readonly<Record<string, unknown>>;
  readonly events: number;
  /** In the tree, in the order of the files. */
  readonly places: readonly number[];
  readonly checkpoint: { readonly events: number; readonly root: string; readonly signed_at: string };
}

/**
 * From …/evidence/proof. `shown` is the SHA-256 of `rendering`, which is that of the varying part of the event in `events`,
 * followed by `columns`; all in base64.
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

/** Differs from every checkpoint, whose second line is a number. */
export function caseText(origin: string, digest: Buffer): string {
  return `auditlog evidence: a case file\n${origin}\n${digest.toString('base64')}\n`;
}

/** Throws a NoteError without a trusted signature. */
export function isSignedCase(note: string, origin: string, digest: Buffer, trust: Trust): boolean {
  const parsed = parseNote(note);
  verifyNote(parsed, trust.keysOf(origin));
  return parsed.text === caseText(origin, digest);
}
