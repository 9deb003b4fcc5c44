import { Problem } from '../../base/errors/problem.ts';
import { parseCheckpoint } from '../../tlog/checkpoint.ts';
import {
  type Entry,
  entryAt,
  entryBytes,
  type EventContent,
  eventHash,
  isEntryOf,
  isOwnEntry,
} from '../../tlog/entry.ts';
import { type Erasure, ErasureHistory } from '../../tlog/erasure.ts';
import { hashBytes } from '../../tlog/hash.ts';
import { NoteError } from '../../tlog/note.ts';
import type { PolicyHistory } from '../../tlog/policy.ts';
import { TreeAudit } from '../../tlog/tree-audit.ts';
import type { ImportSource } from '../import-source.ts';
import { createProgress, type ProgressIo } from '../progress.ts';
import { checkpointFiles, Checkpoints, readTrust, type TrustOptions } from './checkpoints.ts';
import { CopyAudit, TreeCopy } from './copy.ts';
import { believed, disbelieved, explainedByErasures } from './erasures.ts';
import { type EvidenceHead, evidenceHead, readErasureLine, readLine } from './evidence-file.ts';
import { splitLines } from '../lines.ts';
import { explainedBy, hashOf, historyOf, notesOf, type PositionedEvent } from './policies.ts';
import { NamedOrganization } from './named-organization.ts';
import { findingAt, contradictionsIn, type Report, vanished } from './report.ts';

const entriesAtOnce = 256;

class ErasureLists {
  readonly events: readonly PositionedEvent[];
  readonly #isPending: readonly boolean[];
  readonly #pieces: Buffer[][];
  readonly #findings: Report['findings'][number][] = [];
  #history: ErasureHistory | undefined;

  constructor(erasures: EvidenceHead['erasures'] = []) {
    this.events = positionedEvents(erasures);
    this.#isPending = erasures.map(({ pending }) => pending === true);
    this.#pieces = erasures.map(() => []);
  }

  /** Whether a line is a piece of a list. */
  take(line: Buffer): boolean {
    const found = readErasureLine(line);
    const pieces = this.#pieces[found?.erasure ?? -1];
    if (found === undefined || pieces === undefined) return false;
    pieces.push(found.list);
    return true;
  }

  /** Call it after all lists have been read. */
  history(): ErasureHistory {
    if (this.#history !== undefined) return this.#history;
    const erasures = this.events.flatMap((event, n): Erasure[] => {
      const list = Buffer.concat(this.#pieces[n] ?? []);
      const erasure = believed(event, list, this.#isPending[n] === true);
      if (erasure === undefined) this.#findings.push(disbelieved(event));
      return erasure === undefined ? [] : [erasure];
    });
    this.#history = new ErasureHistory(erasures);
    return this.#history;
  }

  get findings(): Report['findings'] {
    this.history();
    return this.#findings;
  }
}

class FileAudit {
  readonly #tree: TreeAudit;
  readonly #entries = Buffer.alloc(entriesAtOnce * entryBytes);
  #waiting = 0;
  readonly #history: PolicyHistory;
  readonly #policies: readonly PositionedEvent[];
  readonly #erasures: ErasureLists;
  readonly #organization: NamedOrganization;
  /** Events named by the first line, until found in the tree. */
  readonly #claimed: Map<number, PositionedEvent>;
  #first: Report['findings'][number] | undefined;
  /** The first event without its source, though it has not expired. */
  #firstLeftOut: { readonly position: number; readonly entry: Entry } | undefined;
  #sources = 0;
  #expired = 0;
  #leftOut = 0;

  constructor(tree: TreeAudit, { organization, ...head }: EvidenceHead) {
    const policies = positionedEvents(head.policies);
    const erasures = new ErasureLists(head.erasures);
    this.#tree = tree;
    this.#policies = policies;
    this.#erasures = erasures;
    this.#organization = new NamedOrganization(organization);
    this.#claimed = new Map([...policies, ...erasures.events].map((one) => [one.position, one]));
    this.#history = historyOf(policies);
  }

  /** `isFiltered`: events may be missing. */
  findings(isFiltered: boolean): Report['findings'] {
    const [claimed] = this.#claimed.values();
    if (claimed !== undefined)
      this.#report({
        kind: 'added',
        position: claimed.position,
        detail: `the first line of the file names a policy at position ${claimed.position} that is not in the tree`,
      });
    const first = [
      ...this.#organization.findings,
      ...this.#erasures.findings,
      ...(this.#first === undefined ? [] : [this.#first]),
    ];
    if (isFiltered || this.#firstLeftOut === undefined) return first;
    const { position, entry } = this.#firstLeftOut;
    const missing = findingAt('missing', position, entry, `${vanished}; in all ${this.#leftOut} missing`);
    return [...first, missing].toSorted((a, b) => (a.position ?? 0) - (b.position ?? 0));
  }

  get confirm(): Report['confirm'] {
    return [...explainedBy(this.#history, this.#policies), ...explainedByErasures(this.#erasures.history())];
  }

  notes(isFiltered: boolean): string[] {
    const alone = `${this.#sources} events are in the file; ${this.#expired + this.#leftOut} have only an entry`;
    const notes = [this.#expired > 0 ? `${alone}, ${this.#expired} of them expired` : alone];
    notes.push(...notesOf(this.#history));
    if (isFiltered)
      notes.push(
        `the file was exported with filters: ${this.#leftOut} events that have not expired have no source event, and may or may not be stored`,
      );
    return [...notes, ...this.#organization.notes];
  }

  add(line: Buffer): void {
    const expected = this.#tree.size + this.#waiting;
    if (expected === 0 && this.#erasures.take(line)) return;
    const found = readLine(line, this.#entries, this.#waiting);
    if (found === undefined) {
      this.#report({
        kind: 'altered',
        position: expected,
        detail: `the line of position ${expected} is not in the format of exports`,
      });
      return;
    }
    const { position, event } = found;
    const entry = (): Entry => entryAt(this.#entries, this.#waiting);
    if (position !== expected) this.#report(misplaced(position, expected, entry()));
    this.#confirm(position, entry());
    if (event === undefined) this.#miss(position, entry());
    else {
      this.#sources += 1;
      if (!this.#isAsSaid(entry, event))
        this.#report(findingAt('altered', position, entry(), 'differs from the recorded event'));
      else if (isOwnEntry(this.#entries, this.#waiting)) this.#organization.look(position, event.source);
    }
    this.#waiting += 1;
    if (this.#waiting === entriesAtOnce) this.flush();
  }

  /** Adds waiting entries to the tree: many at once cost less. */
  flush(): void {
    this.#tree.add(this.#entries.subarray(0, this.#waiting * entryBytes));
    this.#waiting = 0;
  }

  /** Lines beyond the last checkpoint. */
  addBehind(covered: number, size: number): void {
    this.#report({
      kind: 'added',
      position: covered,
      detail: `the lines of positions ${covered} to ${size - 1} were inserted: no checkpoint covers them`,
    });
  }

  /** Whether an event is as recorded, or as an erasure left it. */
  #isAsSaid(entry: () => Entry, event: EventContent): boolean {
    const erasures = this.#erasures.history();
    if (!isEntryOf(this.#entries, this.#waiting, event)) return erasures.explains(entry(), eventHash(event));
    return erasures.isEmpty || erasures.allows(entry(), eventHash(event));
  }

  #confirm(position: number, entry: Entry): void {
    const claimed = this.#claimed.get(position);
    // A producer's event states nothing about the service.
    if (claimed === undefined || claimed.seq !== entry.seq || !entry.own) return;
    if (this.#erasures.history().allows(entry, hashOf(claimed))) this.#claimed.delete(position);
  }

  #miss(position: number, entry: Entry): void {
    if (this.#history.mayBeRemoved(entry)) {
      this.#expired += 1;
      return;
    }
    this.#leftOut += 1;
    this.#firstLeftOut ??= { position, entry: { ...entry, eventHash: Buffer.from(entry.eventHash) } };
  }

  /** Later ones follow from the first. */
  #report(finding: Report['findings'][number]): void {
    this.#first ??= finding;
  }
}

function misplaced(position: number, expected: number, entry: Entry): Report['findings'][number] {
  return position > expected
    ? {
        kind: 'missing',
        position: expected,
        detail: `the event at position ${expected} is missing: the event of position ${position} is there`,
      }
    : findingAt('moved', position, entry, `is at position ${expected}, like an earlier one`);
}

async function begin(line: Buffer, path: string, options: TrustOptions) {
  const trust = await readTrust(options);
  if (trust === undefined)
    throw new Problem('malformed', 'verifying a file needs the public key of the log: give --key');
  const head = evidenceHead(line);
  if (head === undefined)
    throw new Problem('malformed', `${path} is neither a proof nor a file of "export --evidence"`);
  if (!head.origin.endsWith(`/${head.organization.id}`))
    throw new NoteError(
      `the first line of the file names the organization ${head.organization.id}, but its evidence belongs to ${head.origin}`,
    );
  const { size } = parseCheckpoint(head.checkpoint);
  const checkpoints = new Checkpoints(trust, head.origin, size);
  checkpoints.add(head.checkpoint);
  for (const file of await checkpointFiles(options.checkpoint, head.organization.id))
    checkpoints.addFile(file);
  const copy =
    options.copy === undefined ? undefined : await TreeCopy.open(options.copy, head.organization.id);
  // A copy continues where the file ends.
  for (const text of (await copy?.checkpoints(size)) ?? []) checkpoints.add(text);
  const copied = copy === undefined ? undefined : new CopyAudit(copy, 'altered', 'the file');
  const tree = new TreeAudit(checkpoints.heads);
  const notes =
    options.checkpoint === undefined && copy === undefined
      ? ['without --checkpoint, the checkpoint of the file may have been replaced together with events']
      : [];
  return { checkpoints, tree, audit: new FileAudit(tree, head), copied, isFiltered: head.filtered, notes };
}

/** The file's maker wrote its first line: the tree verifies the events it names. */
function positionedEvents(events: EvidenceHead['policies'] = []): PositionedEvent[] {
  return events.map(({ n, seq, shown, source }) => ({
    position: n,
    seq: BigInt(seq),
    // The text is arbitrary: a hash has 32 bytes.
    shown: Buffer.concat([Buffer.from(shown ?? '', 'base64')], hashBytes),
    source,
  }));
}

async function holdToCopy(copied: CopyAudit, lines: readonly Buffer[]): Promise<void> {
  const entry = Buffer.alloc(entryBytes);
  for (const line of lines) {
    const isEvent = readLine(line, entry, 0) !== undefined;
    await copied.add(isEvent ? entry : Buffer.alloc(0));
  }
}

/** An export older than a kept checkpoint has none of its later events. */
function olderThanKept({ covered, newer }: Checkpoints): Report['confirm'] {
  if (newer === undefined) return [];
  const events = newer - covered;
  const detail = `the file ends with its checkpoint of ${covered} events, and a kept one covers ${newer}: the file is older, and does not have the ${events} after it; that the newer one continues it, …/evidence/proof?older=${covered}&size=${newer} proves`;
  return [{ kind: 'older', events, detail, decision: [String(covered), String(newer)] }];
}

const isNoErasure = (line: Buffer): boolean => readErasureLine(line) === undefined;

interface VerifiedFile {
  readonly path: string;
  readonly source: ImportSource;
  readonly text: AsyncIterable<Buffer>;
}

export async function verifyFile(
  { io }: { readonly io: ProgressIo },
  { path, source, text }: VerifiedFile,
  options: TrustOptions,
): Promise<Report> {
  const progress = createProgress(io, { items: 'events', total: source.fileBytes });
  let begun: Awaited<ReturnType<typeof begin>> | undefined;
  for await (const lines of splitLines(text)) {
    if (begun === undefined && lines.length > 0)
      begun = await begin(lines.shift() ?? Buffer.alloc(0), path, options);
    for (const line of lines) begun?.audit.add(line);
    if (begun?.copied !== undefined) await holdToCopy(begun.copied, lines.filter(isNoErasure));
    progress.at(source.fileBytesRead(), begun?.tree.size ?? 0);
  }
  progress.end();
  begun?.audit.flush();
  const { checkpoints, tree, audit, copied, isFiltered, notes } =
    begun ?? (await begin(Buffer.alloc(0), path, options));
  // An export ends with its checkpoint.
  if (tree.size > checkpoints.covered) audit.addBehind(checkpoints.covered, tree.size);
  // Errors after a missing line are reported once.
  const found = audit.findings(isFiltered);
  const reportedFrom = found[0]?.position ?? Number.POSITIVE_INFINITY;
  return {
    origin: checkpoints.origin,
    events: tree.size,
    covered: checkpoints.covered,
    findings: [
      ...checkpoints.findings,
      ...found,
      ...(copied?.findings ?? []).filter(({ position = 0 }) => position < reportedFrom),
      ...contradictionsIn(tree.findings()),
    ],
    confirm: [...audit.confirm, ...olderThanKept(checkpoints)],
    notes: [...audit.notes(isFiltered), ...notes],
  };
}
