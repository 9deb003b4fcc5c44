import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { Problem } from '../base/errors/problem.ts';
import type { Config } from '../config/config.ts';
import { requireKnownSecret, sessionSecret } from '../config/secrets.ts';
import { signOnView } from '../control/change-events.ts';
import type { SignOnInput, SignOnSettings } from '../control/sign-on-settings.ts';
import type { CliDeps } from './context.ts';
import { controlCommand } from './control-command.ts';
import { table } from './output.ts';
import { readPassword } from './password.ts';

interface Options extends SignOnInput {
  readonly org: string;
  readonly clientSecretStdin?: true;
}

/** The service's provider as far as this environment names it. */
function view(settings: SignOnSettings, slug: string, { oidc }: Config) {
  const isOwn = settings.provider === 'own';
  const ofService = settings.provider === 'service' ? oidc : undefined;
  return {
    organization: slug,
    ...signOnView(settings),
    ...(ofService && { issuer: ofService.issuer, client_id: ofService.clientId }),
    redirect_path: `/api/v1/auth/sign-on/callback/${isOwn ? slug : '_service'}`,
  };
}

function providerText({ provider, issuer }: ReturnType<typeof view>): string {
  if (issuer === undefined) return provider === 'off' ? 'off' : 'none';
  return provider === 'service' ? `${issuer} (of the service)` : issuer;
}

function addList(signOn: Command, deps: CliDeps): void {
  const list = signOn.command('list').description('list the sign-in settings of all organizations');
  controlCommand(deps, list, () => ({ directory, config }) => {
    const organizations = directory.organizations();
    const value = organizations.map(({ id, slug }) => view(directory.signOnOf(id), slug, config));
    const text = table(value, [
      ['organization', (one) => one.organization],
      ['provider', providerText],
      ['client', (one) => one.client_id ?? ''],
      ['roles', (one) => one.role_claim ?? 'as they are here'],
      ['create', (one) => (one.create ? 'on' : 'off')],
      ['passwords', (one) => (one.passwords ? 'on' : 'off')],
      ['proven', (one) => one.proven_at ?? (one.issuer === undefined ? '' : 'not yet')],
    ]);
    return { schema: 'CliSignOns', value, text };
  });
}

function addSet(signOn: Command, deps: CliDeps): void {
  const set = signOn
    .command('set')
    .description('set up the OpenID Connect provider of an organization')
    .requiredOption('--org <slug>', 'slug or id of the organization')
    .option('--provider <own|service|off>', 'its own provider, that of OIDC_PROVIDER, or none')
    .option('--issuer <url>', 'issuer of its own provider, exactly as in the discovery document')
    .option('--client-id <id>', 'client id at the provider')
    .option('--client-secret-stdin', 'read the client secret from standard input; empty: none')
    .option('--scopes <names>', 'requested scopes (default: "openid email profile")')
    .option('--trust-email <on|off>', 'trust addresses without email_verified')
    .option('--link-email <on|off>', 'link existing users by verified address (default: on)')
    .option('--create <on|off>', 'create users at their first sign-in')
    .option(
      '--role-claim <name>',
      'claim that determines roles, such as groups; none: roles are managed here',
    )
    .option('--admin-values <list>', 'values of the claim for admin, separated by commas, or none')
    .option('--auditor-values <list>', 'the same for auditor')
    .option('--member-values <list>', 'the same for member')
    .option(
      '--default-role <admin|auditor|member|none>',
      'role without such a value; none refuses the sign-in',
    )
    .option('--relink', 'allow each user one more link by verified address');
  controlCommand(deps, set, (options: Options) => {
    const { org, clientSecretStdin, ...input } = options;
    if (Object.keys(input).every((name) => name === 'json') && clientSecretStdin === undefined)
      throw new Problem('malformed', 'nothing to set: see sign-on set --help');
    return async ({ change, config, log }) => {
      const isSealed = clientSecretStdin !== undefined;
      const given = isSealed ? { ...input, clientSecret: await readPassword(deps.io, true) } : input;
      if (isSealed) await requireKnownSecret(config.dataDir, 'SESSION_SECRET', config.sessionSecret);
      const secret = isSealed ? await sessionSecret(config, log) : randomUUID();
      const { organization, now } = await change('setSignOn', org, given, secret);
      const value = view(now, organization.slug, config);
      return {
        schema: 'CliSignOn',
        value,
        text: `Sign-on of ${organization.slug} changed. To be entered at the provider, behind the address of the service: ${value.redirect_path}`,
      };
    };
  });
}

export function registerSignOn(program: Command, deps: CliDeps): void {
  const signOn = program.command('sign-on').description('sign-in with providers of OpenID Connect');
  addList(signOn, deps);
  addSet(signOn, deps);
}
