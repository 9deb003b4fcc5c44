import type { ZippedFile } from '../base/bytes/zip.ts';
import { formatMicros } from '../base/time/timestamp.ts';
import { caseFiles, type CaseHead, type CaseProof } from '../tlog/case.ts';
import { isEntryOf } from '../tlog/entry.ts';
import { sha256 } from '../tlog/hash.ts';
import type { Covered, EvidenceReader } from './evidence-reader.ts';
import { limits } from './limits.ts';

export interface CaseEvent {
  readonly seq: bigint;
  readonly line: Buffer;
  /** SHA-256 of its varying part. */
  readonly rendering: Buffer;
  /** The columns that `shown` is a hash of, beside the rendering. */
  readonly columns: Buffer;
  readonly source: Buffer;
}

export interface CaseOptions {
  readonly organization: { readonly id: string; readonly slug: string };
  readonly filters: Readonly<Record<string, string>>;
  readonly link: string;
  readonly madeMicros: number;
  readonly madeBy: Readonly<Record<string, unknown>>;
  readonly events: readonly CaseEvent[];
  /** From …/evidence/key. */
  readonly keys: string;
}

/** Rejects with a Problem if an event is not covered, and with EngineError. */
export async function filesOfCase(evidence: EvidenceReader, options: CaseOptions): Promise<ZippedFile[]> {
  const { organization, events, keys } = options;
  const covered = await evidence.covered(
    organization.id,
    events.map(({ seq }) => seq),
  );
  const head = makeHead(options, covered);
  const headBytes = Buffer.from(`${JSON.stringify(head, undefined, 2)}\n`);
  const note = await evidence.signCase(organization.id, sha256(headBytes));
  const lineEnd = Buffer.from('\n');
  return [
    text(caseFiles.readme, makeReadme(head)),
    { name: caseFiles.head, bytes: headBytes },
    text(caseFiles.note, note),
    { name: caseFiles.events, bytes: Buffer.concat(events.flatMap(({ line }) => [line, lineEnd])) },
    text(caseFiles.proofs, await proofLines(evidence, options, covered)),
    text(caseFiles.checkpoint, covered.checkpoint.text),
    text(caseFiles.keys, keys),
  ];
}

const text = (name: string, content: string): ZippedFile => ({ name, bytes: Buffer.from(content) });

function makeHead(options: CaseOptions, { checkpoint, entries }: Covered): CaseHead {
  const { organization, filters, link, madeMicros, madeBy, events } = options;
  const { origin, size, root, signedMicros } = checkpoint;
  return {
    auditlog_case: 1,
    origin,
    organization: { id: organization.id, slug: organization.slug },
    filters,
    link,
    made_at: formatMicros(madeMicros),
    made_by: madeBy,
    events: events.length,
    places: entries.map(({ position }) => position),
    checkpoint: {
      events: size,
      root: Buffer.from(root).toString('base64'),
      signed_at: formatMicros(signedMicros),
    },
  };
}

async function proofLines(
  evidence: EvidenceReader,
  { organization, events }: CaseOptions,
  { checkpoint, entries }: Covered,
): Promise<string> {
  const lines: string[] = [];
  for (let at = 0; at < events.length; at += limits.coveredAtOnce) {
    const some = entries.slice(at, at + limits.coveredAtOnce);
    const positions = some.map(({ position }) => position);
    const proofs = await evidence.proofs(organization.id, checkpoint, positions);
    for (const [n, entry] of some.entries()) {
      const { rendering, columns, source } = events[at + n] as CaseEvent;
      const shown = sha256(Buffer.concat([rendering, columns]));
      const line: CaseProof & Readonly<Record<string, unknown>> = {
        position: entry.position,
        seq: String(entry.seq),
        time: entry.time,
        ...(entry.expiryDay !== undefined && { expires: entry.expiryDay }),
        entry: entry.bytes.toString('base64'),
        source: source.toString(),
        shown: shown.toString('base64'),
        as_recorded: isEntryOf(entry.bytes, 0, { source, shown }),
        signed_at: formatMicros(checkpoint.signedMicros),
        proof: proofs[n] as string,
        rendering: rendering.toString('base64'),
        columns: columns.toString('base64'),
      };
      lines.push(`${JSON.stringify(line)}\n`);
    }
  }
  return lines.join('');
}

function makeReadme({ origin, organization, events, made_at: madeAt, link, checkpoint }: CaseHead): string {
  return `${events} audit events of ${organization.slug}, taken out at ${madeAt}.

${caseFiles.head}      filters, who made the case, the place of each event in the log; ${link}
${caseFiles.note}      the service's signature of ${caseFiles.head}
${caseFiles.events}  the events, newest first, one a line
${caseFiles.proofs}  for each event, in the same order, its source event and its proof
${caseFiles.checkpoint}     the signed checkpoint of ${checkpoint.events} events that all proofs lead to
${caseFiles.keys}      the public keys of the log, as the service published them

Verify it with the public key of ${origin} that you have from elsewhere:
    auditlog verify THIS_FILE.zip --key ${organization.slug}.key
`;
}
