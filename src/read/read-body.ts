import type { ByteFlow } from '../base/bytes/byte-flow.ts';
import { EngineError } from '../base/errors/engine-error.ts';
import type { BytesOptions, HeldBytes, Parameters, QueryOptions, Storage } from '../storage/storage.ts';
import { limits } from './limits.ts';
import { bufferedRead } from './plans.ts';

/**
 * Buffered, so that a failure of the engine can still be answered; or, if very large, a flow, whose failure must not end cleanly.
 */
export type ReadBody =
  | { readonly bytes: Uint8Array; readonly release: () => void }
  | { readonly flow: ByteFlow };

export interface BodyEnvelope {
  readonly skip: number;
  readonly before: string;
  readonly after: string;
}

const memoryLimitExceeded = 241;

export const isTooLarge = (error: unknown): boolean =>
  error instanceof EngineError && error.engineCode === memoryLimitExceeded;

const room = { headroom: 64, tailroom: 1024 };

/** Buffers a result; undefined if too large, here or in the engine. Rejects with EngineError. */
export async function readWhole(
  storage: Storage,
  query: string,
  parameters: Parameters,
  options: BytesOptions,
): Promise<HeldBytes | undefined> {
  const settings = { ...bufferedRead, ...options.settings };
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
 * Buffers a result with an envelope derived from its bytes; undefined if too large. Rejects with EngineError.
 */
export async function readEnveloped(
  storage: Storage,
  query: string,
  parameters: Parameters,
  options: QueryOptions,
  envelopeOf: (rows: Uint8Array) => BodyEnvelope | Promise<BodyEnvelope>,
): Promise<{ readonly bytes: Uint8Array; readonly release: () => void } | undefined> {
  const bounded = { ...options, ...room, bytesMax: limits.pageBufferedBytesMax };
  const result = await readWhole(storage, query, parameters, bounded);
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
    throw new RangeError('The envelope exceeds the room around the result');
  bytes.write(before, from);
  return bytes.subarray(from, end + bytes.write(after, end));
}
