import { type ActivityClass, activityClassOf, ocsfClass } from '../activity-classes.ts';
import { toByteText } from '../byte-text.ts';
import type { ByteSink } from '../byte-sink.ts';
import { noBytes, viewOf } from '../json-cursor.ts';
import { kind, numberOf, readSource, releaseReading, SourceReading, slot } from '../source-fields.ts';
import { type Head, makeHeads } from './heads.ts';
import { metadataStart, putMetadata, putTimezone, type Ocsf110Names, type StoredFacts } from './metadata.ts';
import { putObservables } from './observed.ts';
import { Constants, Output, type Range, shared } from './output.ts';
import { type NamedConstants, namedConstants, putParts } from './parts.ts';
import { markLossy, newLossy, putUnmappedFields } from './unmapped.ts';
import { putActivityName, putOutcome } from './words.ts';

const json = {
  unmapped: shared.add(',"unmapped":{"activity_id":'),
  activityName: shared.add(',"activity_name":"'),
  micros: shared.add('","time_us":'),
  end: shared.add('}}'),
};

/** Bound of attributes that contain the same text. */
const growthMax = 14;
const addedBytesMax = 8 * 1024;

/** One a thread. */
export class Ocsf110Mapper {
  readonly #reading = new SourceReading(undefined, []);
  readonly #lossy = newLossy();
  readonly #out: Output;
  readonly #heads: ReadonlyMap<ActivityClass, Head>;
  readonly #metadata: Range;
  readonly #named: NamedConstants;
  readonly #addedBytesMax: number;
  /** Stored events need no copy. */
  readonly #minified: ByteSink = { bytes: noBytes, view: viewOf(noBytes), length: 0, end: 0 };
  #sources: Buffer = Buffer.alloc(0);
  #sourcesAt = 0;

  constructor(names: Ocsf110Names) {
    const constants = new Constants(shared);
    this.#heads = makeHeads(constants);
    this.#named = namedConstants(constants, names);
    const product = JSON.stringify({ name: names.productName, vendor_name: names.vendorName });
    const logName = JSON.stringify(names.appName);
    this.#metadata = metadataStart(constants, toByteText(product), toByteText(logName));
    this.#addedBytesMax = addedBytesMax + 4 * (product.length + logName.length) * 3;
    this.#out = new Output(constants);
  }

  /** Sets new sources and discards earlier output. */
  open(sources: Uint8Array): void {
    this.#sourcesAt = this.#out.open(sources);
    this.#sources = Buffer.from(sources.buffer, sources.byteOffset, sources.length);
  }

  /** Valid until the next `open`. */
  events(): Uint8Array {
    return this.#out.events();
  }

  put(text: string): void {
    this.#out.reserve(text.length);
    this.#out.text(text);
  }

  /** The same facts always give the same bytes. Throws if the source is invalid. */
  map(from: number, to: number, facts: StoredFacts): void {
    const out = this.#out;
    const reading = this.#reading;
    out.reserve((to - from) * growthMax + this.#addedBytesMax);
    this.#minified.length = to + this.#sourcesAt;
    const place = { bytes: out.bytes, eventStart: from + this.#sourcesAt, minified: this.#minified };
    try {
      // Short texts die young; one text of all sources would reach the old generation.
      const fault = readSource(reading, place, this.#sources.toString('latin1', from, to), 0);
      if (fault !== undefined) throw new Error(`a stored source event ${fault}`);
      this.#put(facts);
    } finally {
      releaseReading(reading);
      out.observed.length = 0;
    }
  }

  #put(facts: StoredFacts): void {
    const r = this.#reading;
    const out = this.#out;
    const lossy = this.#lossy;
    const hasParts = r.kinds[slot.action] === kind.object;
    const code = numberOf(r, hasParts ? slot.actionCode : slot.action) + 0;
    const entry = activityClassOf(code);
    const { before, after, isOther } = this.#heads.get(entry) as Head;
    const isHost = entry.classUid !== ocsfClass.api && entry.classUid !== ocsfClass.file;
    lossy.fill(0);
    markLossy(r, lossy);
    out.put(before);
    if (isOther) putActivityName(out, r, code);
    out.put(after);
    out.integer(Math.floor(facts.timeMicros / 1000));
    putTimezone(out, r);
    putOutcome(out, r, code);
    putMetadata(out, r, this.#metadata, facts, { code, isHost });
    putParts(r, entry, { out, lossy, named: this.#named, organization: facts.organization, code });
    putObservables(out);
    out.put(json.unmapped);
    out.integer(code);
    out.put(json.activityName);
    putActivityName(out, r, code, 'all');
    out.put(json.micros);
    out.integer(facts.timeMicros);
    putUnmappedFields(out, r, lossy);
    out.put(json.end);
  }
}
