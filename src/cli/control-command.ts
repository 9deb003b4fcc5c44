import type { Command } from 'commander';
import type { Answer, CommandSchemaName } from '../contract/document.ts';
import type { Change } from '../control/change-events.ts';
import { listOrganizations } from '../control/organizations.ts';
import type { Storage } from '../storage/storage.ts';
import type { CliDeps } from './context.ts';
import { print } from './output.ts';
import type { JsonOption } from '../tools/output.ts';
import { eventsOf, recordAfter, type Session, setUp, withStorage } from './session.ts';

/** What a command shows, as JSON of a schema and as text for people, and what it changed. */
type OutcomeOf<Name extends CommandSchemaName> = {
  readonly schema: Name;
  readonly value: Answer<Name>;
  readonly text: string;
  readonly changes?: readonly Change[];
};
type Outcome = { [Name in CommandSchemaName]: OutcomeOf<Name> }[CommandSchemaName];

/**
 * Makes a command work on the control data. `prepare` refuses wrong usage before an engine is started for the rest. The
 * changes are recorded as audit events of the organizations (contract: Sessions) once the result is printed: a key is
 * shown once, and a recording that fails must not lose it. `makes`: also where there is no data yet.
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the options of a command are what it declares
export function controlCommand<Options>(
  deps: CliDeps,
  command: Command,
  prepare: (
    options: Options,
    argument: string | undefined,
  ) => (storage: Storage, session: Session) => Promise<Outcome>,
  storageOptions: { readonly makes?: true } = {},
): void {
  command.option('--json', 'print JSON').action(async () => {
    const options = command.opts<Options & JsonOption>();
    const work = prepare(options, command.args[0]);
    await withStorage(
      setUp(deps),
      async (session) => {
        const { schema, value, text, changes = [] } = await work(session.storage, session);
        print(deps, options, schema, value, text);
        await recordAfter(session, eventsOf(changes), 'an audit event');
      },
      storageOptions,
    );
  });
}

/** The slug of an organization by its id; the id itself of one that is gone. */
export async function slugsOf(storage: Storage): Promise<(id: string) => string> {
  const slugs = new Map((await listOrganizations(storage)).map(({ id, slug }) => [id, slug]));
  return (id) => slugs.get(id) ?? id;
}
