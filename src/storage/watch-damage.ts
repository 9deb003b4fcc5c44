import type { ByteFlow } from '../base/byte-flow.ts';
import { EngineError } from '../base/engine-error.ts';
import type { Storage } from './storage.ts';

/** The same storage; `onDamagedPart` hears the name of each damaged part that has ended a read. */
export function watchDamage(storage: Storage, onDamagedPart: (part: string) => void): Storage {
  const tell = (error: unknown): void => {
    if (error instanceof EngineError && error.damagedPart !== undefined) onDamagedPart(error.damagedPart);
  };
  const watched = async <T>(reading: Promise<T>): Promise<T> => {
    try {
      return await reading;
    } catch (error) {
      tell(error);
      throw error;
    }
  };
  return {
    ...storage,
    rows: (query, parameters, options) => watched(storage.rows(query, parameters, options)),
    flow: async (query, parameters, options) =>
      watchedFlow(await watched(storage.flow(query, parameters, options)), tell),
    bytes: async (query, parameters, options) => {
      const result = await watched(storage.bytes(query, parameters, options));
      return 'to' in result ? watchedFlow(result, tell) : result;
    },
  };
}

/** A flow can still fail when its first bytes have gone out. */
function watchedFlow(flow: ByteFlow, tell: (error: unknown) => void): ByteFlow {
  return {
    ...flow,
    to: (sink) =>
      flow.to({
        data: (piece) => sink.data(piece),
        end: () => sink.end(),
        failed(error) {
          tell(error);
          sink.failed(error);
        },
      }),
  };
}
