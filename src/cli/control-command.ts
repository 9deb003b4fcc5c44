import type { Command } from 'commander';
import type { Answer, CommandSchemaName } from '../contract/document.ts';
import type { Directory } from '../control/directory.ts';
import type { CliDeps } from './context.ts';
import { print } from './output.ts';
import type { JsonOption } from '../tools/output.ts';
import { type ControlContext, setUp, withDirectory } from './command-work.ts';

type OutcomeOf<Name extends CommandSchemaName> = {
  readonly schema: Name;
  readonly value: Answer<Name>;
  readonly text: string;
};
type Outcome = { [Name in CommandSchemaName]: OutcomeOf<Name> }[CommandSchemaName];

/**
 * Makes a command work on the control data. `prepare` refuses wrong usage before an engine starts. `makes`: also without data.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the options of a command are what it declares
export function controlCommand<Options>(
  deps: CliDeps,
  command: Command,
  prepare: (
    options: Options,
    argument: string | undefined,
  ) => (context: ControlContext) => Outcome | Promise<Outcome>,
  storageOptions: { readonly makes?: true } = {},
): void {
  command.option('--json', 'print JSON').action(async () => {
    const options = command.opts<Options & JsonOption>();
    const work = prepare(options, command.args[0]);
    await withDirectory(
      setUp(deps),
      async (context) => {
        const { schema, value, text } = await work(context);
        print(deps, options, schema, value, text);
      },
      storageOptions,
    );
  });
}

/** The slug of an organization; its id if it was deleted. */
export function slugOf(directory: Directory, id: string): string {
  return directory.organizationById(id)?.slug ?? id;
}
