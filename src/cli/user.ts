import type { Command } from 'commander';
import { Problem } from '../base/problem.ts';
import { changeOfUser } from '../control/change-events.ts';
import { findOrganization, listOrganizations } from '../control/organizations.ts';
import { checkPassword } from '../control/passwords.ts';
import { createUser, disableUser, listUsers, setPassword, type UserReference } from '../control/users.ts';
import type { CliDeps } from './context.ts';
import { type JsonOption, print, table, timeText, timeTextOrNull } from './output.ts';
import { readPassword } from './password.ts';
import { runControlCommand } from './session.ts';

interface PasswordOption {
  readonly passwordStdin?: true;
}

interface UserOptions extends JsonOption {
  readonly org?: string;
  readonly email?: string;
}

const passwordHelp = 'read the password from standard input instead of asking for it';

/** Reads and checks the password before an engine starts, so that a bad one costs nothing. */
async function acceptablePassword(deps: CliDeps, { passwordStdin }: PasswordOption): Promise<string> {
  const password = await readPassword(deps.io, passwordStdin === true);
  checkPassword(password);
  return password;
}

function addCreate(user: Command, deps: CliDeps): void {
  interface Options extends JsonOption, PasswordOption {
    readonly org: string;
    readonly email: string;
    readonly name: string;
    readonly role: string;
  }
  user
    .command('create')
    .description('make a user; the password comes from a prompt or standard input')
    .requiredOption('--org <slug>', 'organization')
    .requiredOption('--email <address>', 'e-mail address')
    .requiredOption('--name <name>', 'name to show')
    .requiredOption('--role <role>', 'admin, auditor or member')
    .option('--password-stdin', passwordHelp)
    .option('--json', 'print JSON')
    .action(async (options: Options) => {
      const password = await acceptablePassword(deps, options);
      await runControlCommand(deps, async (storage) => {
        const made = await createUser(storage, { ...options, organization: options.org, password });
        const { slug } = await findOrganization(storage, made.organizationId);
        const { id, email, name, role } = made;
        const view = { id, organization: slug, email, name, role };
        print(deps, options, 'CliNewUser', view, `User ${email} created, id ${id}`);
        return [changeOfUser(made, 'userCreated')];
      });
    });
}

function addList(user: Command, deps: CliDeps): void {
  user
    .command('list')
    .description('show users')
    .option('--org <slug>', 'only of this organization')
    .option('--json', 'print JSON')
    .action((options: UserOptions) =>
      runControlCommand(deps, async (storage) => {
        const slugs = new Map((await listOrganizations(storage)).map(({ id, slug }) => [id, slug]));
        const views = (await listUsers(storage, options.org)).map((one) => ({
          id: one.id,
          organization: slugs.get(one.organizationId) ?? one.organizationId,
          email: one.email,
          name: one.name,
          role: one.role,
          created_at: timeText(one.createdMicros),
          disabled_at: timeTextOrNull(one.disabledMicros),
        }));
        const text = table(views, [
          ['organization', (one) => one.organization],
          ['email', (one) => one.email],
          ['name', (one) => one.name],
          ['role', (one) => one.role],
          ['state', (one) => (one.disabled_at === null ? 'active' : `disabled ${one.disabled_at}`)],
          ['id', (one) => one.id],
        ]);
        print(deps, options, 'CliUsers', views, text);
        return [];
      }),
    );
}

/** A command about one user, whichever way it is named. */
function aboutUser(command: Command): Command {
  return command
    .argument('[user]', 'e-mail address or id')
    .option('--email <address>', 'the same as the argument')
    .option('--org <slug>', 'organization, where the address is in several')
    .option('--json', 'print JSON');
}

function referenceOf(given: string | undefined, { email, org }: UserOptions): UserReference {
  const user = given ?? email;
  if (user === undefined) throw new Problem('malformed', 'name the user by e-mail address or id');
  return { user, organization: org };
}

function addDisable(user: Command, deps: CliDeps): void {
  aboutUser(user.command('disable').description('end a user’s access and sessions')).action(
    async (given: string | undefined, options: UserOptions) => {
      const reference = referenceOf(given, options);
      await runControlCommand(deps, async (storage) => {
        const disabled = await disableUser(storage, reference);
        const { id, email } = disabled;
        const view = { id, disabled_at: timeTextOrNull(disabled.disabledMicros) };
        print(deps, options, 'CliDisabledUser', view, `User ${email} disabled`);
        return [changeOfUser(disabled, 'userDisabled')];
      });
    },
  );
}

function addSetPassword(user: Command, deps: CliDeps): void {
  aboutUser(user.command('set-password').description('change a password, which ends the user’s sessions'))
    .option('--password-stdin', passwordHelp)
    .action(async (given: string | undefined, options: UserOptions & PasswordOption) => {
      const reference = referenceOf(given, options);
      const password = await acceptablePassword(deps, options);
      await runControlCommand(deps, async (storage) => {
        const changed = await setPassword(storage, reference, password);
        const { id, email } = changed;
        const words = `Password of ${email} changed; sessions have ended`;
        print(deps, options, 'CliUserPassword', { id, email }, words);
        return [changeOfUser(changed, 'passwordChanged')];
      });
    });
}

/** `user create|list|disable|set-password` (contract: Command line). */
export function registerUser(program: Command, deps: CliDeps): void {
  const user = program.command('user').description('users of organizations');
  addCreate(user, deps);
  addList(user, deps);
  addDisable(user, deps);
  addSetPassword(user, deps);
}
