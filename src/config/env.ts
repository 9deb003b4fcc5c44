/** Variables by name, as the operating system gives them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A copy of the process's environment. Nothing else in the code reads it, so that whatever a setting does is found
 * by following `Config`, and a test can give any environment it likes.
 */
export function readEnvironment(): Environment {
  return { ...process.env };
}
