export type Environment = Readonly<Record<string, string | undefined>>;

export interface CliIo {
  out(text: string): void;
  error(text: string): void;
  /** For bytes, and for a command that must wait until they are written. */
  readonly output: NodeJS.WritableStream;
  /** Standard error is a terminal, so a command may redraw lines. */
  readonly errorIsTerminal?: boolean;
  readonly input: NodeJS.ReadStream | NodeJS.ReadableStream;
}

/** The parts of the process that commands need, passed in so that tests can replace them. */
export interface ToolDeps {
  readonly environment: Environment;
  readonly io: CliIo;
  /** Resolves when the process is asked to stop. */
  readonly untilStopped: () => Promise<void>;
}
