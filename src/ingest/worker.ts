import { createHash } from 'node:crypto';
import { workerData } from 'node:worker_threads';
import { crc32c } from '@node-rs/crc32';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { limits } from '../base/limits.ts';
import { Problem } from '../base/problem.ts';
import { createMapper, type OrgReference } from '../ocsf/audit-event.ts';
import { alwaysRedacted } from '../ocsf/redact.ts';
import { decompressBody } from './decompress.ts';
import { createBlockBuilder } from './native-block.ts';
import { splitBody } from './split-body.ts';
import type {
  Block,
  OrganizationFacts,
  Outcome,
  SharedDirectory,
  Task,
  TaskRequest,
  TaskResult,
  WorkerSettings,
} from './task.ts';

/**
 * The body of a worker thread: decompress, split, map, encode. It opens no socket and no file; what it makes is one
 * buffer of blocks, given away to the main thread.
 */
const { appName, redactKeys } = workerData as WorkerSettings;
const mapEvent = createMapper({ appName, redactKeys: [...alwaysRedacted, ...redactKeys] });
const sharedRows = createBlockBuilder();
const apartRows = createBlockBuilder();

type ResolveOrg = (reference: string | undefined) => OrgReference | string;

/** Blocks written so far, in one buffer that grows; the last task's size is a good guess for the next. */
interface Output {
  bytes: Buffer<ArrayBuffer>;
  length: number;
  readonly blocks: Block[];
}

let lastBytes = 64 * 1024;

/** Piscina calls this with each task; the buffer of the result is moved, not copied. */
export default function runTask(task: Task): unknown {
  sharedRows.reset();
  apartRows.reset();
  const output: Output = { bytes: Buffer.allocUnsafeSlow(lastBytes), length: 0, blocks: [] };
  const outcomes = task.requests.map((request, index) => processRequest(task, request, index, output));
  flushRows(output, sharedRows, undefined);
  lastBytes = Math.min(limits.blockBytesKeptMax, Math.max(4096, output.length));
  const result: TaskResult = { buffer: output.bytes.buffer, blocks: output.blocks, outcomes };
  return move({ [transferableSymbol]: result.buffer, [valueSymbol]: result });
}

function processRequest(task: Task, request: TaskRequest, index: number, output: Output): Outcome {
  const rows = request.apart ? apartRows : sharedRows;
  const blockOwner = request.apart ? index : undefined;
  const before = { length: output.length, blocks: output.blocks.length };
  try {
    const body = decompressBody(request.body, request.encoding, task.bodyBytesMax);
    const resolveOrg = organizationResolver(request.organization, task.directory);
    const answer = { accepted: 0, rejected: 0, errors: [] as { index: number; error: string }[] };
    const fault = splitBody(body, request.form, (text, start, end, error) => {
      const mapped = error ?? mapEvent(text, start, end, resolveOrg);
      if (typeof mapped !== 'string') {
        if (answer.accepted > limits.batchEventsMax) return;
        rows.add(mapped);
        answer.accepted += 1;
        if (rows.rows() >= limits.blockRowsMax || rows.payloadCharacters() >= limits.blockCharactersMax)
          flushRows(output, rows, blockOwner);
        return;
      }
      if (answer.errors.length < limits.rejectedErrorsReportedMax) {
        answer.errors.push({ index: answer.accepted + answer.rejected, error: mapped });
      }
      answer.rejected += 1;
    });
    if (answer.accepted > limits.batchEventsMax) {
      // A body this long is alone in its task, or apart from the others: nothing else's rows are dropped here.
      rows.reset();
      output.length = before.length;
      output.blocks.length = before.blocks;
      const detail = `The body holds more than ${limits.batchEventsMax} events; send it in parts.`;
      return { kind: 'problem', code: 'too_large', detail };
    }
    if (fault !== undefined)
      return { kind: 'problem', code: 'malformed', detail: `The body is not acceptable JSON: ${fault}.` };
    if (request.apart) flushRows(output, rows, blockOwner);
    const bodyHash = request.apart ? createHash('sha256').update(body).digest('base64url') : undefined;
    return { kind: 'answered', answer, bodyHash };
  } catch (error) {
    if (error instanceof Problem) return { kind: 'problem', code: error.code, detail: error.message };
    throw error;
  }
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

/** Which organization an event belongs to (contract: Ingest, `message.org`), or why it cannot be stored. */
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
