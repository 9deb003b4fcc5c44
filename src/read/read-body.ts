import type { ByteFlow } from '../base/bytes/byte-flow.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import type { BytesOptions, HeldBytes, Parameters, QueryOptions, Storage } from '../storage/storage.ts';
import { limits } from './limits.ts';
import { heldWhole } from './plans.ts';

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

/** Code of the engine: a query needs more memory than it may have. */
const memoryLimitExceeded = 241;

export const isTooLarge = (error: unknown): boolean =>
  error instanceof EngineError && error.engineCode === memoryLimitExceeded;

/** Room around the held bytes, for `before` and `after`. */
const room = { headroom: 64, tailroom: 1024 };

/**
 * Reads a result that is to be held; undefined where it is too large for that, here or in the engine. Rejects with
 * EngineError.
 */
export async function readWhole(
  storage: Storage,
  query: string,
  parameters: Parameters,
  options: BytesOptions,
): Promise<HeldBytes | undefined> {
  const settings = { ...heldWhole, ...options.settings };
  try {
    const result = await storage.bytes(query, parameters, { ...options, settings });
    if ('release' in result) return result;
    result.destroy();
    return undefined;
  } catch (error) {
    if (isTooLarge(error)) return undefined;
    throw error;
  }
}

/**
 * Reads a result and puts its envelope around it, which follows from the engine's bytes; undefined where it is too large
 * to be held. Rejects with EngineError.
 */
export async function readEnveloped(
  storage: Storage,
  query: string,
  parameters: Parameters,
  options: QueryOptions,
  envelopeOf: (rows: Uint8Array) => BodyEnvelope | Promise<BodyEnvelope>,
  bytesMax: number = limits.pageBufferedBytesMax,
): Promise<{ readonly bytes: Uint8Array; readonly release: () => void } | undefined> {
  const result = await readWhole(storage, query, parameters, { ...options, ...room, bytesMax });
  if (result === undefined) return undefined;
  try {
    const envelope = await envelopeOf(result.buffer.subarray(result.start, result.end));
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
