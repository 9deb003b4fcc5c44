import type { Mapping } from '../adapters/mapping.ts';
import { Mappings } from '../adapters/mappings.ts';
import { refusalIn } from '../adapters/otlp/record.ts';
import { type MappedEvent, Mapper, type ResolveOrg } from '../ocsf/audit-event.ts';
import { fromByteText, toWindow, type Window } from '../ocsf/byte-text.ts';
import { quote } from '../ocsf/json-cursor.ts';
import { makeRedaction } from '../ocsf/redact.ts';
import { BlockOutput } from './block-output.ts';
import { BlockBuilder } from './native-block.ts';
import { OrganizationLookup } from './organization-lookup.ts';
import { malformed, mislabelledLines, refusedBy } from './refusals.ts';
import { RejectionCounts } from './rejections.ts';
import { hashOf, looksLikeLines, type OnEvent, splitBody } from './split-body.ts';
import type { MapResult, MapTask, Outcome, RequestKind, WorkerSettings } from './task.ts';

export class RequestMapper {
  readonly #mapper: Mapper;
  readonly #mappings: Mappings;
  readonly #organizations = new OrganizationLookup();
  readonly #sharedRows = new BlockBuilder();
  readonly #ownRows = new BlockBuilder();

  constructor({ appName, ...redaction }: WorkerSettings, mappings = new Mappings()) {
    this.#mappings = mappings;
    this.#mapper = new Mapper({ appName, redaction: makeRedaction(redaction) });
  }

  map(task: MapTask): MapResult {
    this.#sharedRows.reset();
    this.#ownRows.reset();
    const output = new BlockOutput(task.output);
    const accepted = new Uint32Array(task.ends.length);
    const outcomes = new Map<number, Outcome>();
    let start = 0;
    for (const [index, end] of task.ends.entries()) {
      const outcome = this.#mapRequest(task, index, task.input.subarray(start, end), output);
      start = end;
      if (outcome.kind === 'answered' && outcome.answer.rejected === 0 && outcome.bodyHash === undefined) {
        accepted[index] = outcome.answer.accepted;
      } else outcomes.set(index, outcome);
    }
    output.write(this.#sharedRows, undefined);
    const { buffer: input } = task.input;
    return {
      input: input instanceof ArrayBuffer ? input : undefined,
      buffer: output.buffer(),
      blocks: output.blocks,
      accepted,
      outcomes,
    };
  }

  #mapRequest(task: MapTask, index: number, body: Uint8Array, output: BlockOutput): Outcome {
    try {
      return this.#mapBody(task, index, body, output);
    } catch (error) {
      return refusedBy(error);
    }
  }

  #mapBody(task: MapTask, index: number, body: Uint8Array, output: BlockOutput): Outcome {
    const kind = task.kinds[task.kindOf[index] as number] as RequestKind;
    const rows = kind.ownBlocks ? this.#ownRows : this.#sharedRows;
    const owner = kind.ownBlocks ? index : undefined;
    const begin = output.end();
    const adapter = kind.adapter === undefined ? undefined : this.#mappings.of(kind.adapter);
    const answer = { accepted: 0, rejected: 0, errors: [] as { index: number; error: string }[] };
    const rejections = new RejectionCounts();
    const resolveOrg = this.#organizations.resolver(kind.organization, task.directory, kind.org);
    const put = (mapped: MappedEvent | string): boolean => {
      if (typeof mapped !== 'string') {
        rows.add(mapped);
        answer.accepted += 1;
        if (rows.isFull()) output.write(rows, owner);
        return true;
      }
      if (answer.errors.length < kind.errorsMax) {
        answer.errors.push({ index: answer.accepted + answer.rejected, error: mapped });
      }
      answer.rejected += 1;
      rejections.add(mapped);
      return answer.rejected <= task.rejectedMax;
    };
    const onEvent: OnEvent = (window, start, end, error) => {
      if (error !== undefined) return put(error);
      if (adapter === undefined) return put(this.#mapper.map(window, start, end, resolveOrg));
      const events = eventsOf(adapter, window, start, end);
      if (typeof events === 'string') return put(events);
      return events.every((event) => put(this.#mapAdapted(adapter, event, resolveOrg)));
    };
    const fault = splitBody(body, kind.form, onEvent, adapter?.records);
    if (fault !== undefined) return malformed(fault);
    const isOneBad = kind.form === 'json' && answer.rejected === 1 && answer.accepted === 0;
    if (isOneBad && looksLikeLines(body)) return mislabelledLines;
    const hasTooManyRejected = answer.rejected > task.rejectedMax;
    if (hasTooManyRejected) {
      // A body with so many events never shares its task, so only its own rows are dropped.
      rows.reset();
      output.cut(begin);
    }
    if (kind.ownBlocks) output.write(rows, owner);
    const bodyHash = kind.ownBlocks ? hashOf(body) : undefined;
    return { kind: 'answered', answer, bodyHash, rejections: rejections.list(), hasTooManyRejected };
  }

  /** A mapped record is validated as any source event. */
  #mapAdapted(adapter: Mapping, event: string, resolveOrg: ResolveOrg): MappedEvent | string {
    const own = toWindow(event);
    const mapped = this.#mapper.map(own, 0, own.bytes.length, resolveOrg);
    return typeof mapped === 'string' ? `${mapped} (as mapped from ${adapter.name})` : mapped;
  }
}

function eventsOf(adapter: Mapping, window: Window, start: number, end: number): readonly string[] | string {
  const isRefusal = adapter.name === 'otlp' && window.bytes[start] === quote;
  if (isRefusal) return refusalIn(fromByteText(window.text.slice(start, end)));
  const mapped = adapter.map(window, start, end);
  return typeof mapped === 'string' ? mapped : mapped.events;
}
