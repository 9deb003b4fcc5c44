import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { faultText } from '../base/errors/fault.ts';

export interface Members {
  readonly [name: string]: string | Members;
}

export interface OutcomeDefinition {
  readonly of: readonly string[];
  readonly success: readonly string[];
  readonly failure?: readonly string[];
  readonly absent?: 'success';
}

/** One code, or one by outcome. */
export type ActivityCode = number | { readonly success?: number; readonly failure?: number };

/** See `schema/mapping.schema.json`. */
export interface MappingDefinition {
  readonly name: string;
  readonly description?: string;
  readonly records?: string;
  readonly each?: string;
  readonly id?: string;
  readonly time: string;
  readonly level?: string;
  readonly msg?: string;
  readonly action: string;
  readonly title?: string;
  readonly codes?: Readonly<Record<string, ActivityCode>>;
  readonly outcome: OutcomeDefinition;
  readonly event?: Members;
  readonly extra?: Members;
  readonly used?: readonly (readonly string[])[];
  readonly redact?: { readonly when: string; readonly names: readonly string[] };
}

/** The built-in mappings; OTLP has its own path. */
export const adapterNames = ['cloudtrail', 'github', 'json', 'kubernetes', 'okta'] as const;

export function isBuiltIn(name: string): boolean {
  return name === 'otlp' || (adapterNames as readonly string[]).includes(name);
}

function readSchema(path: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../schema/${path}`, import.meta.url), 'utf8'));
}

export function builtInDefinition(name: string): MappingDefinition {
  if (!isBuiltIn(name)) throw new Error(`unknown mapping ${name}`);
  return checkedDefinition(readSchema(`mappings/${name}.json`));
}

let validator: ValidateFunction<MappingDefinition> | undefined;

function compileSchema(): ValidateFunction<MappingDefinition> {
  const ajv = new Ajv2020({ strictTypes: false, verbose: true });
  ajv.addKeyword('x-rule');
  return ajv.compile<MappingDefinition>(readSchema('mapping.schema.json') as object);
}

/** Throws an Error that names the member and the rule. */
export function checkedDefinition(value: unknown): MappingDefinition {
  const validate = (validator ??= compileSchema());
  if (validate(value)) return value;
  const { errors } = validate;
  // If one of several rules must hold, report the combined rule.
  const error = errors?.find(({ parentSchema }) => parentSchema?.['x-rule'] !== undefined) ?? errors?.[0];
  const rule: unknown = error?.parentSchema?.['x-rule'];
  const text = typeof rule === 'string' ? rule : error?.message;
  const unknown: unknown = error?.params['additionalProperty'];
  const named = typeof unknown === 'string' ? ` (${unknown})` : '';
  throw new Error(faultText('mapping', error?.instancePath ?? '', `${text}${named}`));
}
