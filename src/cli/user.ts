import type { Command } from 'commander';
import { Problem } from '../base/problem.ts';
import { changeOfUser } from '../control/change-events.ts';
import { findOrganization, listOrganizations } from '../control/organizations.ts';
import { checkPassword } from '../control/passwords.ts';
import { createUser, disableUser, listUsers, setPassword, type UserReference } from '../control/users.ts';
import type { CliDeps } from './context.ts';
import { runControlCommand } from './session.ts';
import { print, table, timeText, timeTextOrNull } from './output.ts';
import { readPassword } from './password.ts';

interface JsonOption {
  readonly json?: true;
}

interface CreateOptions extends JsonOption {
  readonly org: string;
  readonly email: string;
  readonly name: string;
  readonly role: string;
  readonly passwordStdin?: true;
}

interface WhichOptions extends JsonOption {
  readonly org?: string;
  readonly email?: string;
}

function referenceOf(given: string | undefined, options: WhichOptions): UserReference {
  const user = given ?? options.email;
  if (user === undefined) throw new Problem('malformed', 'name the user by e-mail address or id');
  return { user, organization: options.org };
}

/** Asked for before any engine is started, so that a bad password costs nothing. */
async function acceptablePassword(deps: CliDeps, fromStdin: boolean): Promise<string> {
  const password = await readPassword(deps.io, fromStdin);
  checkPassword(password);
  return password;
}

async function create(deps: CliDeps, options: CreateOptions): Promise<void> {
  const password = await acceptablePassword(deps, options.passwordStdin === true);
  await runControlCommand(deps, async (storage) => {
    const user = await createUser(storage, { ...options, organization: options.org, password });
    const { slug } = await findOrganization(storage, user.organizationId);
    const { id, email, name, role } = user;
    print(
      deps,
      options,
      'CliNewUser',
      { id, organization: slug, email, name, role },
      `User ${email} created, id ${id}`,
    );
    return [changeOfUser(user, 'userCreated')];
  });
}

async function list(deps: CliDeps, options: WhichOptions): Promise<void> {
  await runControlCommand(deps, async (storage) => {
    const slugs = new Map((await listOrganizations(storage)).map(({ id, slug }) => [id, slug]));
    const views = (await listUsers(storage, options.org)).map((user) => ({
      id: user.id,
      organization: slugs.get(user.organizationId) ?? user.organizationId,
      email: user.email,
      name: user.name,
      role: user.role,
      created_at: timeText(user.createdMicros),
      disabled_at: timeTextOrNull(user.disabledMicros),
    }));
    const rows = views.map((one) => [
      one.organization,
      one.email,
      one.name,
      one.role,
      one.disabled_at === null ? 'active' : `disabled ${one.disabled_at}`,
      one.id,
    ]);
    print(
      deps,
      options,
      'CliUsers',
      views,
      table(['organization', 'email', 'name', 'role', 'state', 'id'], rows),
    );
    return [];
  });
}

async function disable(deps: CliDeps, given: string | undefined, options: WhichOptions): Promise<void> {
  const reference = referenceOf(given, options);
  await runControlCommand(deps, async (storage) => {
    const user = await disableUser(storage, reference);
    const disabled_at = timeTextOrNull(user.disabledMicros);
    print(deps, options, 'CliDisabledUser', { id: user.id, disabled_at }, `User ${user.email} disabled`);
    return [changeOfUser(user, 'userDisabled')];
  });
}

async function changePassword(
  deps: CliDeps,
  given: string | undefined,
  options: WhichOptions & { readonly passwordStdin?: true },
): Promise<void> {
  const reference = referenceOf(given, options);
  const password = await acceptablePassword(deps, options.passwordStdin === true);
  await runControlCommand(deps, async (storage) => {
    const user = await setPassword(storage, reference, password);
    const { id, email } = user;
    print(
      deps,
      options,
      'CliUserPassword',
      { id, email },
      `Password of ${email} changed; sessions have ended`,
    );
    return [changeOfUser(user, 'passwordChanged')];
  });
}

function which(command: Command): Command {
  return command
    .argument('[user]', 'e-mail address or id')
    .option('--email <address>', 'the same as the argument')
    .option('--org <slug>', 'organization, where the address is in several')
    .option('--json', 'print JSON');
}

const passwordHelp = 'read the password from standard input instead of asking for it';

/** `user create|list|disable|set-password` (contract: Command line). */
export function registerUser(program: Command, deps: CliDeps): void {
  const user = program.command('user').description('users of organizations');
  user
    .command('create')
    .description('make a user; the password comes from a prompt or standard input')
    .requiredOption('--org <slug>', 'organization')
    .requiredOption('--email <address>', 'e-mail address')
    .requiredOption('--name <name>', 'name to show')
    .requiredOption('--role <role>', 'admin, auditor or member')
    .option('--password-stdin', passwordHelp)
    .option('--json', 'print JSON')
    .action((options) => create(deps, options));
  user
    .command('list')
    .description('show users')
    .option('--org <slug>', 'only of this organization')
    .option('--json', 'print JSON')
    .action((options) => list(deps, options));
  which(user.command('disable').description('end a user’s access and sessions')).action((given, options) =>
    disable(deps, given, options),
  );
  which(user.command('set-password').description('change a password, which ends the user’s sessions'))
    .option('--password-stdin', passwordHelp)
    .action((given, options) => changePassword(deps, given, options));
}
