import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { faultText } from '../base/errors/fault.ts';

/** Expressions by the names of the members that they make. */
export interface Members {
  readonly [name: string]: string | Members;
}

/** How records of one kind become source events; `schema/mapping.schema.json` says what each member means. */
export interface MappingDefinition {
  readonly name: string;
  readonly description?: string;
  readonly records?: string;
  readonly each?: string;
  readonly time: string;
  readonly level?: string;
  readonly msg?: string;
  readonly action: string;
  readonly title?: string;
  readonly codes?: Readonly<Record<string, number>>;
  readonly event?: Members;
  readonly extra?: Members;
  readonly used?: readonly (readonly string[])[];
}

/** The mappings that come with the service, by the names that `from` takes. */
export const adapterNames = ['cloudtrail', 'github', 'json', 'kubernetes', 'okta'] as const;

export type AdapterName = (typeof adapterNames)[number];

/** Also the one of records that come in a protocol of their own: `POST /v1/logs` takes them, and no `from`. */
export type MappingName = AdapterName | 'otlp';

export function isAdapterName(name: string): name is AdapterName {
  return (adapterNames as readonly string[]).includes(name);
}

/** A file of `schema/`; the same path holds from `src` and from `dist`. */
function readSchema(path: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../schema/${path}`, import.meta.url), 'utf8'));
}

export function builtInDefinition(name: MappingName): MappingDefinition {
  return checkedDefinition(readSchema(`mappings/${name}.json`));
}

/** Throws an Error that names the member and the rule. */
export function checkedDefinition(value: unknown): MappingDefinition {
  const ajv = new Ajv2020({ strictTypes: false, verbose: true });
  ajv.addKeyword('x-rule');
  const validate = ajv.compile<MappingDefinition>(readSchema('mapping.schema.json') as object);
  if (validate(value)) return value;
  const [error] = validate.errors ?? [];
  const rule: unknown = error?.parentSchema?.['x-rule'];
  const text = typeof rule === 'string' ? rule : error?.message;
  const unknown: unknown = error?.params['additionalProperty'];
  const named = typeof unknown === 'string' ? ` (${unknown})` : '';
  throw new Error(faultText('mapping', error?.instancePath ?? '', `${text}${named}`));
}
