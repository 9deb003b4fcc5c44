/**
 * The query parameters of a request, and which of them had no effect (contract: Read parameters): nobody asked for them,
 * their value could not be used, or it was above the maximum. Of a repeated one the first counts.
 */
export class QueryParameters {
  readonly #given: URLSearchParams;
  readonly #asked = new Set<string>();
  readonly #unusable = new Set<string>();

  constructor(given: URLSearchParams | Readonly<Record<string, string>>) {
    this.#given = given instanceof URLSearchParams ? given : new URLSearchParams(given);
  }

  /** The value, be it empty; undefined where there is none. */
  given(name: string): string | undefined {
    this.#asked.add(name);
    return this.#given.get(name) ?? undefined;
  }

  /** The value; undefined where there is none, or an empty one. */
  text(name: string): string | undefined {
    return this.given(name) || undefined;
  }

  /** What `parse` makes of the value; undefined where there is none, or one that it can make nothing of. */
  read<T>(name: string, parse: (text: string) => T | undefined): T | undefined {
    const text = this.text(name);
    const value = text === undefined ? undefined : parse(text);
    if (text !== undefined && value === undefined) this.#unusable.add(name);
    return value;
  }

  /** As `read`, of a number that counts as `max` at most: one above it had an effect, and not the one that was asked for. */
  readCapped(name: string, parse: (text: string) => number | undefined, max: number): number | undefined {
    const value = this.read(name, parse);
    if (value === undefined || value <= max) return value;
    this.#unusable.add(name);
    return max;
  }

  /** Names of what had no effect, to be asked for when all has been read. */
  ignored(): string[] {
    if (this.#given.size === 0) return [];
    const names = new Set(this.#given.keys());
    return [...names].filter((name) => !this.#asked.has(name) || this.#unusable.has(name));
  }
}
