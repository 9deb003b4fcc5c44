import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hold } from '../finding.ts';
import { limits } from '../limits.ts';
import type { ModelOrganization } from '../model.ts';
import { until } from '../waiting.ts';
import type { World } from '../world.ts';

interface Verification {
  readonly healthy: boolean;
  readonly findings: readonly { readonly kind: string; readonly detail: string }[];
}

/** `verify` of an organization, against all checkpoints that were kept of it. */
export async function verify(world: World, { slug }: ModelOrganization): Promise<Verification | undefined> {
  const kept = world.checkpoints.get(slug) ?? [];
  const args = ['verify', '--org', slug, '--json', ...kept.flatMap((file) => ['--checkpoint', file])];
  const { stdout } = await world.command(args);
  return stdout.startsWith('{') ? (JSON.parse(stdout) as Verification) : undefined;
}

/** `verify` is content exactly where nobody has tampered. What a kill has left half done is done soon. */
export async function checkEvidence(world: World, organization: ModelOrganization): Promise<void> {
  let found: Verification | undefined;
  const said = () =>
    `verify of ${organization.slug}: ${JSON.stringify(found?.findings ?? 'no report').slice(0, 1000)}`;
  if (organization.tampered !== undefined) {
    found = await verify(world, organization);
    hold(
      found?.healthy === false,
      'verify sees what was tampered with',
      () => `${organization.tampered}: ${said()}`,
    );
    return;
  }
  await until(
    'verify is content with what nobody tampered with',
    said,
    async () => {
      found = await verify(world, organization);
      return found?.healthy === true || undefined;
    },
    limits.evidenceMsMax,
  );
}

/** A checkpoint of an organization as an auditor keeps it: all that comes later must continue it. */
export async function keepCheckpoint(
  world: World,
  organization: ModelOrganization,
): Promise<string | undefined> {
  const answer = await world.ask('/api/v1/audit/evidence/checkpoint', {
    organization,
    headers: { 'x-api-key': organization.goodKeys.find(({ scopes }) => scopes.includes('read'))?.text ?? '' },
  });
  if (answer?.status !== 200) return undefined;
  const files = world.checkpoints.get(organization.slug) ?? [];
  const file = join(world.directory, `checkpoint-${organization.slug}-${files.length}`);
  writeFileSync(file, answer.text);
  world.checkpoints.set(organization.slug, [...files, file]);
  return readFileSync(file, 'utf8').split('\n')[1];
}
