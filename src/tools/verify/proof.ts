import { systemClock } from '../../base/time/clock.ts';
import { Problem } from '../../base/errors/problem.ts';
import { entryAt, entryBytes, type EventContent, hasExpired, isEntryOf } from '../../tlog/entry.ts';
import { hashBytes, leafHash } from '../../tlog/hash.ts';
import { parseProofText } from '../../tlog/proof-text.ts';
import { isIncluded } from '../../tlog/tree.ts';
import { Checkpoints, readTrust, type TrustOptions } from './checkpoints.ts';
import { findingAt, type Report, vanished } from './report.ts';

interface ProofFile {
  readonly entry: string;
  readonly proof: string;
  readonly source?: string;
  /** Base64 of the hash of its shown form. */
  readonly shown?: string;
}

export function asProof(text: string): ProofFile | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { entry, proof, source, shown } = (value ?? {}) as Partial<Record<keyof ProofFile, unknown>>;
  if (typeof entry !== 'string' || typeof proof !== 'string') return undefined;
  const isStored = typeof source === 'string' && typeof shown === 'string';
  return { entry, proof, ...(isStored && { source, shown }) };
}

function eventContent(source: string, base64: string): EventContent {
  const shown = Buffer.from(base64, 'base64');
  if (shown.length !== hashBytes) throw new Problem('malformed', `"shown" is a hash of ${hashBytes} bytes`);
  return { source: Buffer.from(source), shown };
}

/** Throws a NoteError without a trusted signature. */
export async function verifyProof(
  { entry: base64, proof: text, source, shown = '' }: ProofFile,
  options: TrustOptions,
): Promise<Report> {
  const trust = await readTrust(options);
  if (trust === undefined)
    throw new Problem('malformed', 'verifying a proof needs the public key of the log: give --key');
  const { index, hashes, checkpoint } = parseProofText(text);
  const checkpoints = new Checkpoints(trust);
  checkpoints.add(checkpoint);
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length !== entryBytes) throw new Problem('malformed', `an entry has ${entryBytes} bytes`);
  const entry = entryAt(bytes, 0);
  const [tree] = checkpoints.heads;
  const findings: Report['findings'][number][] = [];
  if (tree === undefined || !isIncluded(leafHash(bytes), index, tree, hashes))
    findings.push(findingAt('contradicted', index, entry, 'is not in the signed tree'));
  const content = source === undefined ? undefined : eventContent(source, shown);
  if (content !== undefined && !isEntryOf(bytes, 0, content))
    findings.push(findingAt('altered', index, entry, 'differs from the recorded event'));
  if (source === undefined && !hasExpired(entry, systemClock()))
    findings.push(findingAt('missing', index, entry, vanished));
  const notes = source === undefined ? ['the file has no source event: only its hash is proven'] : [];
  if (findings.some(({ kind }) => kind === 'altered'))
    notes.push('"verify --org" and exports with --evidence show whether a person was erased from it');
  // A proof has the event's own expiry, but no later decisions.
  if (findings.some(({ kind }) => kind === 'missing'))
    notes.push('"verify --org" and exports with --evidence show whether a later policy removed it');
  return {
    origin: checkpoints.origin,
    events: 1,
    covered: checkpoints.covered,
    findings,
    confirm: [],
    notes: [...notes],
  };
}
