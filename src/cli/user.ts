import type { Command } from 'commander';
import { Problem } from '../base/errors/problem.ts';
import { changeOfUser } from '../control/change-events.ts';
import { findOrganization } from '../control/organizations.ts';
import { checkPassword } from '../control/passwords.ts';
import {
  changeRole,
  createUser,
  disableUser,
  enableUser,
  findUser,
  listUsers,
  setPassword,
  type UserReference,
} from '../control/users.ts';
import type { CliDeps } from './context.ts';
import { controlCommand, slugsOf } from './control-command.ts';
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

const passwordHelp = 'read the password from standard input instead of asking for it';

async function acceptablePassword(deps: CliDeps, { passwordStdin }: UserOptions): Promise<string> {
  const password = await readPassword(deps.io, passwordStdin === true);
  checkPassword(password);
  return password;
}

/** A command about one user, whichever way it is named. */
function aboutUser(command: Command): Command {
  return command
    .argument('[user]', 'e-mail address or id')
    .option('--email <address>', 'the same as the argument')
    .option('--org <slug>', 'organization, where the address is in several');
}

function referenceOf(argument: string | undefined, { email, org }: UserOptions): UserReference {
  const user = argument ?? email;
  if (user === undefined) throw new Problem('malformed', 'name the user by e-mail address or id');
  return { user, organization: org };
}

function addCreate(user: Command, deps: CliDeps): void {
  const create = user
    .command('create')
    .description('make a user; the password comes from a prompt or standard input')
    .requiredOption('--org <slug>', 'organization')
    .requiredOption('--email <address>', 'e-mail address')
    .requiredOption('--name <name>', 'name to show')
    .requiredOption('--role <role>', 'admin, auditor or member')
    .option('--password-stdin', passwordHelp);
  controlCommand(deps, create, (options: NewUserOptions) => async (storage) => {
    const password = () => acceptablePassword(deps, options);
    const made = await createUser(storage, { ...options, organization: options.org, password });
    const { slug } = await findOrganization(storage, made.organizationId);
    const { id, email, name, role } = made;
    return {
      schema: 'CliNewUser',
      value: { id, organization: slug, email, name, role },
      text: `User ${email} created, id ${id}`,
      changes: [changeOfUser(made, 'userCreated')],
    };
  });
}

function addList(user: Command, deps: CliDeps): void {
  const list = user
    .command('list')
    .description('show users')
    .option('--org <slug>', 'only of this organization');
  controlCommand(deps, list, ({ org }: UserOptions) => async (storage) => {
    const slugOf = await slugsOf(storage);
    const value = (await listUsers(storage, org)).map((one) => ({
      id: one.id,
      organization: slugOf(one.organizationId),
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
  const disable = aboutUser(user.command('disable')).description('end a user’s access and sessions');
  controlCommand(deps, disable, (options: UserOptions, argument) => {
    const reference = referenceOf(argument, options);
    return async (storage) => {
      const before = await findUser(storage, reference);
      const disabled = await disableUser(storage, reference);
      const { id, email, disabledMicros } = disabled;
      return {
        schema: 'CliDisabledUser',
        value: { id, disabled_at: timeTextOrNull(disabledMicros) },
        text: `User ${email} disabled`,
        changes: before.disabledMicros === undefined ? [changeOfUser(disabled, 'userDisabled')] : [],
      };
    };
  });
}

function addEnable(user: Command, deps: CliDeps): void {
  const enable = aboutUser(user.command('enable')).description('give a disabled user access again');
  controlCommand(deps, enable, (options: UserOptions, argument) => {
    const reference = referenceOf(argument, options);
    return async (storage) => {
      const before = await findUser(storage, reference);
      const enabled = await enableUser(storage, reference);
      const { id, email } = enabled;
      return {
        schema: 'CliUserPassword',
        value: { id, email },
        text: `User ${email} enabled`,
        changes: before.disabledMicros === undefined ? [] : [changeOfUser(enabled, 'userEnabled')],
      };
    };
  });
}

function addSetRole(user: Command, deps: CliDeps): void {
  const set = aboutUser(user.command('set-role'))
    .description('give a user another role; sessions have it at once')
    .requiredOption('--role <role>', 'admin, auditor or member');
  controlCommand(deps, set, (options: UserOptions & { readonly role: string }, argument) => {
    const reference = referenceOf(argument, options);
    return async (storage) => {
      const before = await findUser(storage, reference);
      const changed = await changeRole(storage, reference, options.role);
      const { id, email, name, role } = changed;
      const { slug } = await findOrganization(storage, changed.organizationId);
      return {
        schema: 'CliNewUser',
        value: { id, organization: slug, email, name, role },
        text: `${email} has the role ${role}`,
        changes: before.role === role ? [] : [changeOfUser(changed, 'roleChanged', before)],
      };
    };
  });
}

function addSetPassword(user: Command, deps: CliDeps): void {
  const set = aboutUser(user.command('set-password'))
    .description('change a password, which ends the user’s sessions')
    .option('--password-stdin', passwordHelp);
  controlCommand(deps, set, (options: UserOptions, argument) => {
    const reference = referenceOf(argument, options);
    return async (storage) => {
      await findUser(storage, reference);
      const changed = await setPassword(storage, reference, await acceptablePassword(deps, options));
      const { id, email } = changed;
      return {
        schema: 'CliUserPassword',
        value: { id, email },
        text: `Password of ${email} changed; sessions have ended`,
        changes: [changeOfUser(changed, 'passwordChanged')],
      };
    };
  });
}

/** `user create|list|disable|enable|set-role|set-password` (contract: Command line). */
export function registerUser(program: Command, deps: CliDeps): void {
  const user = program.command('user').description('users of organizations');
  addCreate(user, deps);
  addList(user, deps);
  addDisable(user, deps);
  addEnable(user, deps);
  addSetRole(user, deps);
  addSetPassword(user, deps);
}
