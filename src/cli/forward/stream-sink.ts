import type { CliIo } from '../context.ts';
import { type FormatName, formatEvents } from './formats.ts';
import type { Sink } from './sink.ts';

/** Standard output; delivered means that the system has taken it. A reader that has gone away ends the command. */
export function streamSink(io: CliIo, format: FormatName): Sink {
  const { output } = io;
  return {
    prepare: async () => false,
    async deliver(events) {
      const body = formatEvents(format, events);
      await new Promise<void>((resolve, reject) => {
        output.write(body, (error) => {
          if (!error) resolve();
          else if ('code' in error && error.code === 'EPIPE')
            reject(new Error('nobody reads standard output any more'));
          else reject(error);
        });
      });
      return { rejected: 0 };
    },
    state: () => undefined,
    close: async () => {},
  };
}
