import { constants, type FileHandle, open } from 'node:fs/promises';
import { namingFile } from '../errors/system-error.ts';

/** A file (mode 0600) of known length: `append` overwrites any bytes beyond it. */
export class AppendFile {
  readonly handle: FileHandle;
  readonly #path: string;
  #bytes = 0;

  private constructor(handle: FileHandle, path: string) {
    this.handle = handle;
    this.#path = path;
  }

  /** The length counts as 0 until `truncate` sets it. */
  static async open(path: string): Promise<AppendFile> {
    return new AppendFile(await open(path, constants.O_RDWR | constants.O_CREAT, 0o600), path);
  }

  get bytes(): number {
    return this.#bytes;
  }

  async truncate(bytes: number): Promise<void> {
    await namingFile(this.#path, () => this.handle.truncate(bytes));
    this.#bytes = bytes;
  }

  /** The length grows only after a complete write, so a retry overwrites a failed one. */
  async append(chunk: Uint8Array): Promise<void> {
    await namingFile(this.#path, async () => {
      for (let at = 0; at < chunk.length; ) {
        const written = await this.handle.write(chunk, at, chunk.length - at, this.#bytes + at);
        at += written.bytesWritten;
      }
    });
    this.#bytes += chunk.length;
  }

  sync(): Promise<void> {
    return namingFile(this.#path, () => this.handle.datasync());
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
