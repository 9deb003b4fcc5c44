export type Environment = Readonly<Record<string, string | undefined>>;

/** The only reader of the environment: `Config` shows what a setting does, and tests give any they like. */
export const readEnvironment = (): Environment => ({ ...process.env });
