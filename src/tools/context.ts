export type Environment = Readonly<Record<string, string | undefined>>;

export interface CliIo {
  out(text: string): void;
  error(text: string): void;
  readonly output: NodeJS.WritableStream;
  readonly errorIsTerminal?: boolean;
  readonly input: NodeJS.ReadStream | NodeJS.ReadableStream;
}

/** Passed in so that tests can replace them. */
export interface ToolDeps {
  readonly environment: Environment;
  readonly io: CliIo;
  readonly untilStopped: () => Promise<void>;
}
