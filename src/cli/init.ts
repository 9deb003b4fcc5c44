import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { localUrl } from '../base/files/server-file.ts';
import { loadConfig } from '../config/config.ts';
import { parseEmail } from '../control/email-address.ts';
import { hashPassword } from '../control/passwords.ts';
import type { CliDeps } from './context.ts';
import { controlCommand } from './control-command.ts';

interface InitOptions {
  readonly org: string;
  readonly name?: string;
  readonly email: string;
}

function example(url: string, key: string, email: string): string {
  const event = { time: new Date().toISOString(), message: { action: 1001, actor: email } };
  return [
    'Send an event, and read it a second later:',
    '',
    `curl -s ${url} -H 'X-API-Key: ${key}' \\`,
    `  -H 'Content-Type: application/json' -d '${JSON.stringify(event).replaceAll("'", String.raw`\u0027`)}'`,
    `curl -s ${url} -H 'X-API-Key: ${key}'`,
  ].join('\n');
}

export function registerInit(program: Command, deps: CliDeps): void {
  const init = program
    .command('init')
    .description('create an organization, its administrator and an API key, and show how to send an event')
    .requiredOption('--org <slug>', 'short name of the organization: a-z, 0-9 and -, at most 63')
    .requiredOption('--email <address>', "the administrator's e-mail address")
    .option('--name <name>', 'name of the organization to show (default: the short name)');
  controlCommand(
    deps,
    init,
    ({ org, name = org, ...options }: InitOptions) => {
      const { host, port, tls } = loadConfig(deps.environment);
      const email = parseEmail(options.email);
      const password = randomBytes(12).toString('base64url');
      return async ({ change }) => {
        const passwordHash = await hashPassword(password);
        const person = { email, name: 'Administrator', role: 'admin', passwordHash };
        const first = { scopes: 'read,write', name: 'first key' };
        const made = await change('createWithAdministrator', { slug: org, name }, person, first);
        const { organization, key } = made;
        const { id, slug } = organization;
        const url = `${localUrl(host, port, tls !== undefined)}/api/v1/audit`;
        const text = `Organization ${slug}, id ${id}
Administrator ${email}, password ${password}
API key ${key}, to read and write
The password and the key are shown this once only.

${example(url, key, email)}`;
        return {
          schema: 'CliInit',
          value: { organization: { id, slug, name: organization.name }, email, password, key },
          text,
        };
      };
    },
    { makes: true },
  );
}
