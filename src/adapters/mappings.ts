import { adapterNames, builtInDefinition, type MappingDefinition } from './definition.ts';
import { Mapping } from './mapping.ts';

/** The built-in mappings and those of an installation, each compiled when it is first asked for. */
export class Mappings {
  readonly #own: ReadonlyMap<string, MappingDefinition>;
  readonly #compiled = new Map<string, Mapping>();

  constructor(own: readonly MappingDefinition[] = []) {
    this.#own = new Map(own.map((definition) => [definition.name, definition]));
  }

  /** What `from` takes. */
  names(): readonly string[] {
    return [...adapterNames, ...this.#own.keys()];
  }

  /** Throws for a name that is neither built in nor one of the installation's. */
  of(name: string): Mapping {
    const known = this.#compiled.get(name) ?? new Mapping(this.#own.get(name) ?? builtInDefinition(name));
    this.#compiled.set(name, known);
    return known;
  }
}
