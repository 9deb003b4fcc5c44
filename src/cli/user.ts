import type { Command } from 'commander';
import { Problem } from '../base/errors/problem.ts';
import { checkPassword, hashPassword } from '../control/passwords.ts';
import { checkNewUser, findUser, listUsers, type UserReference } from '../control/users.ts';
import type { CliDeps } from './context.ts';
import { controlCommand, slugOf } from './control-command.ts';
import { table, timeText, timeTextOrNull } from './output.ts';
import { readPassword } from './password.ts';

interface UserOptions {
  readonly org?: string;
  readonly email?: string;
  readonly passwordStdin?: true;
}

interface NewUserOptions extends UserOptions {
  readonly org: string;
  readonly email: string;
  readonly name: string;
  readonly role: string;
}

const passwordHelp = 'read the password from standard input instead of a prompt';

async function acceptablePassword(deps: CliDeps, { passwordStdin }: UserOptions): Promise<string> {
  const password = await readPassword(deps.io, passwordStdin === true);
  checkPassword(password);
  return password;
}

function aboutUser(command: Command): Command {
  return command
    .argument('[user]', 'e-mail address or id')
    .option('--email <address>', 'the same as the argument')
    .option('--org <slug>', 'organization, if the address is in several');
}

function parseReference(argument: string | undefined, { email, org }: UserOptions): UserReference {
  const user = argument ?? email;
  if (user === undefined) throw new Problem('malformed', 'name the user by e-mail address or id');
  return { user, organization: org };
}

function addCreate(user: Command, deps: CliDeps): void {
  const create = user
    .command('create')
    .description('create a user; the password comes from a prompt or standard input')
    .requiredOption('--org <slug>', 'organization')
    .requiredOption('--email <address>', 'e-mail address')
    .requiredOption('--name <name>', 'name to show')
    .requiredOption('--role <admin|auditor|member>', 'role of the user')
    .option('--password-stdin', passwordHelp);
  controlCommand(deps, create, (options: NewUserOptions) => async ({ directory, change }) => {
    const given = { ...options, organization: options.org };
    // Checked before anyone types a password.
    checkNewUser(directory, given);
    const passwordHash = await hashPassword(await acceptablePassword(deps, options));
    const made = await change('createUser', { ...given, passwordHash });
    const { id, email, name, role, organizationId } = made;
    return {
      schema: 'CliNewUser',
      value: { id, organization: slugOf(directory, organizationId), email, name, role },
      text: `User ${email} created, id ${id}`,
    };
  });
}

function addList(user: Command, deps: CliDeps): void {
  const list = user
    .command('list')
    .description('list users')
    .option('--org <slug>', 'only of this organization');
  controlCommand(deps, list, ({ org }: UserOptions) => ({ directory }) => {
    const value = listUsers(directory, org).map((one) => ({
      id: one.id,
      organization: slugOf(directory, one.organizationId),
      email: one.email,
      name: one.name,
      role: one.role,
      created_at: timeText(one.createdMicros),
      disabled_at: timeTextOrNull(one.disabledMicros),
    }));
    const text = table(value, [
      ['organization', (one) => one.organization],
      ['email', (one) => one.email],
      ['name', (one) => one.name],
      ['role', (one) => one.role],
      ['state', (one) => (one.disabled_at === null ? 'active' : `disabled ${one.disabled_at}`)],
      ['id', (one) => one.id],
    ]);
    return { schema: 'CliUsers', value, text };
  });
}

function addDisable(user: Command, deps: CliDeps): void {
  const disable = aboutUser(user.command('disable')).description(
    'disable a user, and end the user’s sessions',
  );
  controlCommand(deps, disable, (options: UserOptions, argument) => {
    const reference = parseReference(argument, options);
    return async ({ change }) => {
      const { now } = await change('disableUser', reference);
      const { id, email, disabledMicros } = now;
      return {
        schema: 'CliDisabledUser',
        value: { id, disabled_at: timeTextOrNull(disabledMicros) },
        text: `User ${email} disabled`,
      };
    };
  });
}

function addEnable(user: Command, deps: CliDeps): void {
  const enable = aboutUser(user.command('enable')).description('enable a disabled user');
  controlCommand(deps, enable, (options: UserOptions, argument) => {
    const reference = parseReference(argument, options);
    return async ({ change }) => {
      const { id, email } = (await change('enableUser', reference)).now;
      return { schema: 'CliUserPassword', value: { id, email }, text: `User ${email} enabled` };
    };
  });
}

function addSetRole(user: Command, deps: CliDeps): void {
  const set = aboutUser(user.command('set-role'))
    .description('change a user’s role; it applies to open sessions at once')
    .requiredOption('--role <admin|auditor|member>', 'role of the user');
  controlCommand(deps, set, (options: UserOptions & { readonly role: string }, argument) => {
    const reference = parseReference(argument, options);
    return async ({ directory, change }) => {
      const { now } = await change('changeRole', reference, options.role);
      const { id, email, name, role, organizationId } = now;
      return {
        schema: 'CliNewUser',
        value: { id, organization: slugOf(directory, organizationId), email, name, role },
        text: `${email} has the role ${role}`,
      };
    };
  });
}

function addSetPassword(user: Command, deps: CliDeps): void {
  const set = aboutUser(user.command('set-password'))
    .description('change a user’s password, and end the user’s sessions')
    .option('--password-stdin', passwordHelp);
  controlCommand(deps, set, (options: UserOptions, argument) => {
    const reference = parseReference(argument, options);
    return async ({ directory, change }) => {
      findUser(directory, reference);
      const passwordHash = await hashPassword(await acceptablePassword(deps, options));
      const { id, email } = (await change('setPassword', reference, passwordHash)).now;
      return {
        schema: 'CliUserPassword',
        value: { id, email },
        text: `Password of ${email} changed; sessions have ended`,
      };
    };
  });
}

export function registerUser(program: Command, deps: CliDeps): void {
  const user = program.command('user').description('users of organizations');
  addCreate(user, deps);
  addList(user, deps);
  addDisable(user, deps);
  addEnable(user, deps);
  addSetRole(user, deps);
  addSetPassword(user, deps);
}
