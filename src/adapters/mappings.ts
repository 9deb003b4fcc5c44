import { adapterNames, builtInDefinition, type MappingDefinition } from './definition.ts';
import { Mapping } from './mapping.ts';

/** Compiles each on first use. */
export class Mappings {
  readonly #own: ReadonlyMap<string, MappingDefinition>;
  readonly #compiled = new Map<string, Mapping>();

  constructor(own: readonly MappingDefinition[] = []) {
    this.#own = new Map(own.map((definition) => [definition.name, definition]));
  }

  names(): readonly string[] {
    return [...adapterNames, ...this.#own.keys()];
  }

  /** Throws for an unknown name. */
  of(name: string): Mapping {
    const known = this.#compiled.get(name) ?? new Mapping(this.#own.get(name) ?? builtInDefinition(name));
    this.#compiled.set(name, known);
    return known;
  }
}
