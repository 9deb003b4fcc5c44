import type { CommandSchemas } from '../../schema/commands.d.ts';
import type { ToolDeps } from './context.ts';

export type Output = Pick<ToolDeps, 'io'>;

export interface JsonOption {
  readonly json?: true;
}

/** One line of JSON, of a schema in schema/commands.yaml. */
export function printJson<Name extends keyof CommandSchemas>(
  deps: Output,
  _schema: Name,
  value: Readonly<CommandSchemas[Name]>,
): void {
  deps.io.out(`${JSON.stringify(value)}\n`);
}

/** `1 line`, `2 lines`. */
export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
