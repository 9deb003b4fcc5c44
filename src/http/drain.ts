import { errorFacts, type Logger } from '../base/observability/log.ts';
import type { Ingest } from '../ingest/ingest.ts';
import { limits as ingestLimits } from '../ingest/limits.ts';
import { limits } from './limits.ts';
import type { HttpServer } from './server.ts';

/** The end of a server that accepts nothing more: answers what it has begun, and gives the engine what is in the log. */
export async function drain(server: HttpServer, ingest: Ingest, log: Logger): Promise<void> {
  const answered = await server.drained(limits.shutdownRequestsMsMax);
  const flushed = await ingest.flush(ingestLimits.shutdownFlushMsMax).catch((error: unknown) => {
    log.warn(errorFacts(error), 'the log could not be sealed');
    return false;
  });
  const words = flushed ? 'drained' : 'stopped with events in the log; the next start sends them';
  log.info({ answered, flushed }, words);
}
