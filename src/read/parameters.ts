/**
 * Also keeps those without effect (contract: Read parameters): unknown, unusable, or above the maximum. The first of a repeated
 * one counts.
 */
export class QueryParameters {
  readonly #given: URLSearchParams;
  readonly #asked = new Set<string>();
  readonly #unusable = new Set<string>();

  constructor(given: URLSearchParams | Readonly<Record<string, string>>) {
    this.#given = given instanceof URLSearchParams ? given : new URLSearchParams(given);
  }

  given(name: string): string | undefined {
    this.#asked.add(name);
    return this.#given.get(name) ?? undefined;
  }

  text(name: string): string | undefined {
    return this.given(name) || undefined;
  }

  /** The parsed value; undefined if absent or not parsable. */
  read<T>(name: string, parse: (text: string) => T | undefined): T | undefined {
    const text = this.text(name);
    const value = text === undefined ? undefined : parse(text);
    if (text !== undefined && value === undefined) this.#unusable.add(name);
    return value;
  }

  /** As `read`, limited to `max`; a larger number counts as without the requested effect. */
  readCapped(name: string, parse: (text: string) => number | undefined, max: number): number | undefined {
    const value = this.read(name, parse);
    if (value === undefined || value <= max) return value;
    this.#unusable.add(name);
    return max;
  }

  ignored(): string[] {
    if (this.#given.size === 0) return [];
    const names = new Set(this.#given.keys());
    return [...names].filter((name) => !this.#asked.has(name) || this.#unusable.has(name));
  }
}
