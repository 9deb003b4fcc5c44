import { createHash } from 'node:crypto';
import { workerData } from 'node:worker_threads';
import { crc32c } from '@node-rs/crc32';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { limits } from './limits.ts';
import { Problem } from '../base/problem.ts';
import { firstToken, splitArray } from '../ocsf/json-array.ts';
import { openBracket } from '../ocsf/json-cursor.ts';
import { createMapper, type OrgReference } from '../ocsf/audit-event.ts';
import { alwaysRedacted } from '../ocsf/redact.ts';
import { decompressBody } from './decompress.ts';
import { createBlockBuilder } from './native-block.ts';
import { RejectionCounts } from './rejections.ts';
import {
  endOfLines,
  looksLikeLines,
  splitBody,
  TooManyElements,
  withoutByteOrderMark,
} from './split-body.ts';
import {
  type Block,
  type MapResult,
  type MapTask,
  type OrganizationFacts,
  type Outcome,
  type Refused,
  type SharedDirectory,
  type SplitResult,
  type SplitTask,
  type RequestKind,
  mislabelledLines,
  tooManyEvents,
  type WorkerSettings,
} from './task.ts';

/**
 * The body of a worker thread: decompress, split, map, encode. It opens no socket and no file; buffers come with the
 * task and go back with the result.
 */
const { appName, redactKeys } = workerData as WorkerSettings;
const mapEvent = createMapper({ appName, redactKeys: [...alwaysRedacted, ...redactKeys] });
const sharedRows = createBlockBuilder();
const apartRows = createBlockBuilder();

type ResolveOrg = (reference: string | undefined) => OrgReference | string;

/** Blocks written so far, in one buffer that grows. */
interface Output {
  bytes: Buffer<ArrayBuffer>;
  length: number;
  readonly blocks: Block[];
}

/** Piscina calls this with each task; buffers of the result are moved, not copied. */
export default async function runTask(task: MapTask | SplitTask): Promise<unknown> {
  if (task.kind === 'split') {
    const result = await splitLarge(task);
    return move({ [transferableSymbol]: result.input, [valueSymbol]: result });
  }
  const result = mapRequests(task);
  const { input, buffer } = result;
  const buffers = input === undefined ? [buffer] : [buffer, input];
  return move({ [transferableSymbol]: buffers, [valueSymbol]: result });
}

function mapRequests(task: MapTask): MapResult {
  sharedRows.reset();
  apartRows.reset();
  const output: Output = { bytes: Buffer.from(task.output), length: 0, blocks: [] };
  const accepted = new Uint32Array(task.ends.length);
  const outcomes = new Map<number, Outcome>();
  let start = 0;
  for (const [index, end] of task.ends.entries()) {
    const outcome = mapRequest(task, index, task.input.subarray(start, end), output);
    start = end;
    if (outcome.kind === 'answered' && outcome.answer.rejected === 0 && outcome.bodyHash === undefined) {
      accepted[index] = outcome.answer.accepted;
    } else outcomes.set(index, outcome);
  }
  flushRows(output, sharedRows, undefined);
  const { buffer: input } = task.input;
  return {
    input: input instanceof ArrayBuffer ? input : undefined,
    buffer: output.bytes.buffer,
    blocks: output.blocks,
    accepted,
    outcomes,
  };
}

function mapRequest(task: MapTask, index: number, body: Uint8Array, output: Output): Outcome {
  const request = task.kinds[task.kindOf[index] as number] as RequestKind;
  try {
    const blockOwner = request.apart ? index : undefined;
    const outcome = mapBody(task, request, body, output, blockOwner);
    return request.apart && outcome.kind === 'answered' ? { ...outcome, bodyHash: hashOf(body) } : outcome;
  } catch (error) {
    return refusedBy(error);
  }
}

function mapBody(
  task: MapTask,
  request: RequestKind,
  body: Uint8Array,
  output: Output,
  blockOwner: number | undefined,
): Outcome {
  const rows = request.apart ? apartRows : sharedRows;
  const before = { length: output.length, blocks: output.blocks.length };
  const resolveOrg = organizationResolver(request.organization, task.directory);
  const answer = { accepted: 0, rejected: 0, errors: [] as { index: number; error: string }[] };
  const rejections = new RejectionCounts();
  const fault = splitBody(body, request.form, (window, start, end, error) => {
    const mapped = error ?? mapEvent(window, start, end, resolveOrg);
    if (typeof mapped !== 'string') {
      rows.add(mapped);
      answer.accepted += 1;
      if (rows.rows() >= limits.blockRowsMax || rows.payloadBytes() >= limits.blockPayloadBytesMax)
        flushRows(output, rows, blockOwner);
      return true;
    }
    if (answer.errors.length < request.errorsMax) {
      answer.errors.push({ index: answer.accepted + answer.rejected, error: mapped });
    }
    answer.rejected += 1;
    rejections.add(mapped);
    return answer.rejected <= task.rejectedMax;
  });
  if (fault !== undefined) return malformed(fault);
  const isOneBad = request.form === 'json' && answer.rejected === 1 && answer.accepted === 0;
  if (isOneBad && looksLikeLines(body)) return mislabelledLines;
  const isEnded = answer.rejected > task.rejectedMax;
  if (isEnded) {
    // So many do not fit into a body that shares its task: nothing else's rows are dropped here.
    rows.reset();
    output.length = before.length;
    output.blocks.length = before.blocks;
  }
  if (request.apart) flushRows(output, rows, blockOwner);
  return { kind: 'answered', answer, bodyHash: undefined, rejections: rejections.list(), isEnded };
}

/** What an error in a body makes of its request; one that is a fault of ours is thrown on. */
function refusedBy(error: unknown): Refused {
  if (error instanceof TooManyElements) return tooManyEvents;
  if (error instanceof Problem) return { kind: 'problem', code: error.code, detail: error.message };
  throw error;
}

function malformed(fault: string): Refused {
  return { kind: 'problem', code: 'malformed', detail: `The body is not acceptable JSON: ${fault}.` };
}

function hashOf(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('base64url');
}

/** Divides a large body into pieces of whole events that workers can map side by side. */
async function splitLarge(task: SplitTask): Promise<SplitResult> {
  const input = task.input.buffer as ArrayBuffer;
  const nothing = { input, form: task.form, pieces: [], bodyHash: undefined };
  try {
    const decompressed = await decompressBody(task.input, task.encoding, task.bodyBytesMax);
    const bytes = withoutByteOrderMark(decompressed);
    const found = piecesOf(bytes, task);
    if ('code' in found) return { ...nothing, body: found };
    // Shared, so that several threads can read it, and all of it is gone when the last has.
    const body = new Uint8Array(new SharedArrayBuffer(bytes.length));
    body.set(bytes);
    return { ...found, input, body, bodyHash: task.hashed ? hashOf(decompressed) : undefined };
  } catch (error) {
    return { ...nothing, body: refusedBy(error) };
  }
}

/** Where a body can be divided, or what is wrong with it. Throws TooManyElements as soon as that is certain. */
function piecesOf(bytes: Buffer, { form, pieceBytes }: SplitTask) {
  const pieces: [number, number][] = [];
  if (form === 'ndjson') {
    for (let from = 0; from < bytes.length; ) {
      const end = endOfLines(bytes, from, pieceBytes);
      pieces.push([from, end]);
      from = end;
    }
    return { form, pieces };
  }
  if (bytes[firstToken(bytes, 0, bytes.length)] !== openBracket) {
    return { form, pieces: [[0, bytes.length]] as const };
  }
  let piece: [number, number] | undefined;
  let elements = 0;
  const fault = splitArray(bytes, 0, bytes.length, (start, end) => {
    elements += 1;
    if (elements > limits.batchEventsMax) throw new TooManyElements();
    if (piece !== undefined && end - piece[0] <= pieceBytes) piece[1] = end;
    else {
      piece = [start, end];
      pieces.push(piece);
    }
  });
  return fault === undefined ? { form: 'elements' as const, pieces } : malformed(fault);
}

function flushRows(
  output: Output,
  rows: ReturnType<typeof createBlockBuilder>,
  request: number | undefined,
): void {
  const count = rows.rows();
  if (count === 0) return;
  const needed = output.length + rows.bytes();
  if (needed > output.bytes.length) {
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, output.bytes.length * 2));
    output.bytes.copy(grown, 0, 0, output.length);
    output.bytes = grown;
  }
  const offset = output.length;
  output.length = rows.finish(output.bytes, offset);
  const block = output.bytes.subarray(offset, output.length);
  output.blocks.push({ offset, length: block.length, rows: count, crc: crc32c(block), request });
}

let known = { version: -1, byReference: new Map<string, OrgReference>() };

function directoryOf(shared: SharedDirectory): Map<string, OrgReference> {
  if (shared.version !== known.version) {
    const byReference = new Map<string, OrgReference>();
    const organizations = JSON.parse(Buffer.from(shared.json).toString('utf8')) as OrganizationFacts[];
    for (const organization of organizations) {
      byReference.set(organization.slug, organization);
      byReference.set(organization.id, organization);
    }
    known = { version: shared.version, byReference };
  }
  return known.byReference;
}

/** Which organization an event belongs to (contract: Ingest), or why it cannot be stored. */
function organizationResolver(
  own: OrganizationFacts | undefined,
  shared: SharedDirectory | undefined,
): ResolveOrg {
  if (own) {
    return (reference) => {
      if (reference === undefined || reference === own.slug || reference.toLowerCase() === own.id) return own;
      return '/message/org: is not the organization of this API key';
    };
  }
  const byReference = shared ? directoryOf(shared) : new Map<string, OrgReference>();
  return (reference) => {
    if (reference === undefined) return '/message/org: is required with an API key of all organizations';
    const found = byReference.get(reference) ?? byReference.get(reference.toLowerCase());
    return found ?? '/message/org: is not an organization of this service';
  };
}
