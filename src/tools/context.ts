/** Variables by name, as the operating system gives them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Standard streams as the commands use them. */
export interface CliIo {
  out(text: string): void;
  error(text: string): void;
  /** Standard output as a stream: for bytes, and where a command must wait until they are taken. */
  readonly output: NodeJS.WritableStream;
  /** Standard error is a terminal, so a command may redraw lines there. */
  readonly errorIsTerminal?: boolean;
  readonly input: NodeJS.ReadStream | NodeJS.ReadableStream;
}

/** What the commands need of the process; they import none of it, so tests run them in their own. */
export interface ToolDeps {
  readonly environment: Environment;
  readonly io: CliIo;
  /** Resolves when the process is asked to end. */
  readonly untilStopped: () => Promise<void>;
}
