import { type ByteFlow, flowWith } from '../base/byte-flow.ts';
import { limits } from './limits.ts';
import type { BytesOptions, HeldBytes, Parameters, QueryOptions, Storage } from '../storage/storage.ts';

/**
 * The body of an answer: whole, in memory that `release` gives back, so that a failure of the engine is still
 * answered; or, when it is very large, as it comes, and then a failure must not end cleanly.
 */
export type ReadBody =
  | { readonly bytes: Uint8Array; readonly release: () => void }
  | { readonly flow: ByteFlow };

/** What is left out at the beginning of the engine's bytes, and what is put around the rest. */
export interface BodyEnvelope {
  readonly skip: number;
  readonly before: string;
  readonly after: string;
}

/** How the envelope follows from the engine's bytes: from all of them, or, when they are very many, from the first. */
export interface EnvelopeOf {
  ofWhole(rows: Uint8Array): BodyEnvelope | Promise<BodyEnvelope>;
  ofStart(rows: Uint8Array): BodyEnvelope;
}

/** Room around the held bytes, for `before` and `after`. */
const room = { headroom: 64, tailroom: 1024 };

/** Reads a result and puts its envelope around it. Rejects with EngineError. */
export async function readEnveloped(
  storage: Storage,
  query: string,
  parameters: Parameters,
  options: QueryOptions,
  envelopeOf: EnvelopeOf,
): Promise<ReadBody> {
  const holding: BytesOptions = { ...options, ...room, bytesMax: limits.pageBufferedBytesMax };
  const result = await storage.bytes(query, parameters, holding);
  if (!('release' in result)) return { flow: envelopFlow(result, envelopeOf) };
  try {
    const envelope = await envelopeOf.ofWhole(result.buffer.subarray(result.start, result.end));
    return { bytes: envelopHeld(result, envelope), release: result.release };
  } catch (error) {
    result.release();
    throw error;
  }
}

function envelopHeld({ buffer, start, end }: HeldBytes, { skip, before, after }: BodyEnvelope): Uint8Array {
  const bytes = Buffer.from(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  const from = start + skip - Buffer.byteLength(before);
  if (from < 0 || end + Buffer.byteLength(after) > bytes.length)
    throw new RangeError('no room for the envelope');
  bytes.write(before, from);
  return bytes.subarray(from, end + bytes.write(after, end));
}

/** The first piece of a flow is as long as what is held at most. */
function envelopFlow(flow: ByteFlow, envelopeOf: EnvelopeOf): ByteFlow {
  return flowWith(flow, (sink) => {
    let after: string | undefined;
    flow.to({
      data(piece) {
        if (after !== undefined) return sink.data(piece);
        const envelope = envelopeOf.ofStart(piece);
        ({ after } = envelope);
        const wanted = sink.data(Buffer.from(envelope.before));
        return sink.data(piece.subarray(envelope.skip)) && wanted;
      },
      end() {
        sink.data(Buffer.from(after ?? ''));
        sink.end();
      },
      failed: (error) => sink.failed(error),
    });
  });
}
