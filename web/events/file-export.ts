import { type Signal, signal } from '@preact/signals';
import { getStream, isAborted, type Parameters } from '../api/request.ts';
import { EventCounter, type ExportFormat } from './event-counter.ts';

export const exportPath = '/api/v1/portal/export';

/** Not every browser lets a page write files; `remove` is newer than the rest. */
declare global {
  interface Window {
    readonly showSaveFilePicker?: (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;
  }
  interface FileSystemFileHandle {
    readonly remove?: () => Promise<void>;
  }
}

interface Progress {
  readonly events: number;
  readonly bytes: number;
  /** As the server has counted; undefined until it answers. */
  readonly total: number | undefined;
}

export type ExportState =
  | { readonly step: 'ready' }
  | ({ readonly step: 'running' } & Progress)
  | ({ readonly step: 'done'; readonly name: string } & Progress)
  | ({ readonly step: 'failed'; readonly error: unknown } & Progress);

/** What was sent ended before all events were there. */
class ShortExportError extends Error {}

/** Whether this browser lets the page write a file itself, and so show how far it is. */
export function canWriteFiles(): boolean {
  return window.showSaveFilePicker !== undefined;
}

/**
 * An export into a file that somebody chooses. The file gets its content at the very end, when all events that the server
 * counted are there; whatever goes wrong before, there is no file that could look whole.
 */
export class FileExport {
  readonly state: Signal<ExportState> = signal({ step: 'ready' });
  #abort = new AbortController();

  /** To be called in answer to a click, or the browser asks for no file. Does not throw: see `state`. */
  async start(format: ExportFormat, parameters: Parameters, suggestedName: string): Promise<void> {
    const { signal } = (this.#abort = new AbortController());
    const counter = new EventCounter(format);
    let file: FileSystemFileHandle | undefined;
    let total: number | undefined;
    const progress = () => ({ events: counter.events, bytes: counter.bytes, total });
    try {
      // Rejects with AbortError where somebody changes their mind.
      file = await window.showSaveFilePicker?.({ suggestedName });
      if (file === undefined) return;
      this.state.value = { step: 'running', ...progress() };
      const response = await getStream(exportPath, { ...parameters, format }, { signal });
      total = Number(response.headers.get('x-total-count'));
      const counting = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform: (chunk, next) => {
          counter.add(chunk);
          this.state.value = { step: 'running', ...progress() };
          next.enqueue(chunk);
        },
        flush: () => {
          if (counter.events !== total) throw new ShortExportError('the export is short');
        },
      });
      // Writes beside the file, and puts it in its place at the end, unless something has failed.
      await response.body?.pipeThrough(counting).pipeTo(await file.createWritable());
      this.state.value = { step: 'done', name: file.name, ...progress() };
    } catch (error) {
      if (file !== undefined) await discard(file);
      this.state.value = isAborted(error) ? { step: 'ready' } : { step: 'failed', error, ...progress() };
    }
  }

  cancel(): void {
    this.#abort.abort();
  }
}

/** Choosing a file has made an empty one. */
async function discard(file: FileSystemFileHandle): Promise<void> {
  try {
    await file.remove?.();
  } catch {
    // It stays, and is empty: nobody takes it for an export.
  }
}
