import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { operator } from '../../../src/cli/command-work.ts';
import type { Draw } from '../draw.ts';
import { idIn } from '../events.ts';
import { brief, hold } from '../finding.ts';
import { limits } from '../limits.ts';
import type { ModelOrganization } from '../model.ts';
import { until } from '../waiting.ts';
import type { World } from '../world.ts';

/** What an auditor keeps of an organization: everything later must agree with it. */
export interface Kept {
  /** The first public keys, and the newest answer that names their successors. */
  readonly key: string;
  readonly keys: string;
  readonly checkpoints: string[];
  readonly proofs: string[];
}

interface Verification {
  /** Undefined: no report. */
  readonly healthy: boolean | undefined;
  readonly findings: readonly { readonly kind: string; readonly detail: string }[];
  readonly confirm: readonly { readonly kind: string; readonly detail: string }[];
}

const trustOf = (kept: Kept | undefined): string[] =>
  kept === undefined ? [] : ['--key', kept.key, '--key', kept.keys];

const withCheckpoints = (kept: Kept | undefined): string[] => [
  ...trustOf(kept),
  ...(kept?.checkpoints ?? []).flatMap((file) => ['--checkpoint', file]),
];

/** Runs `verify` and compares its exit code with its report; without a report returns its message. */
async function verify(world: World, args: readonly string[]): Promise<Verification> {
  const { stdout, stderr, code } = await world.command(['verify', ...args, '--json']);
  if (!stdout.startsWith('{'))
    return { healthy: undefined, findings: [{ kind: `exit code ${code}`, detail: stderr }], confirm: [] };
  const found = JSON.parse(stdout) as Verification;
  const expected = found.findings.length > 0 ? 1 : found.confirm.length > 0 ? 3 : 0;
  hold(
    code === expected,
    'verify ends as it says',
    () => `verify ${args.join(' ')}: ${code}, ${brief(stdout)}`,
  );
  return found;
}

/** Healthy, with nothing to confirm that no decision explains. */
function isContent(organization: ModelOrganization, found: Verification | undefined): boolean {
  const isExplained = {
    retention: organization.hadRetention,
    erasure: organization.persons.some(({ state }) => state !== 'here'),
  };
  return (
    found?.healthy === true &&
    found.confirm.every(({ kind }) => kind in isExplained && isExplained[kind as keyof typeof isExplained])
  );
}

/** Waits until a verification succeeds, or after tampering fails. */
async function expectVerdict(
  organization: ModelOrganization,
  what: string,
  attempt: () => Promise<Verification>,
): Promise<void> {
  let found: Verification | undefined;
  const { slug, tampered } = organization;
  const said = () =>
    `${what} of ${slug}: ${brief(found === undefined ? 'no report' : JSON.stringify([...found.findings, ...found.confirm]), 1000)}`;
  if (tampered !== undefined) {
    found = await attempt();
    hold(found?.healthy === false, 'verify sees what was tampered with', () => `${tampered}: ${said()}`);
    return;
  }
  await until(
    'verify is content with what nobody tampered with',
    said,
    async () => {
      found = await attempt();
      return isContent(organization, found) || undefined;
    },
    limits.evidenceMsMax,
  );
}

/** Compares the stored events with all that was kept. Work that a kill interrupted must finish soon. */
export async function checkEvidence(
  world: World,
  organization: ModelOrganization,
  draw: Draw,
): Promise<void> {
  const { slug } = organization;
  const kept = world.kept.get(slug);
  // An auditor with an old key requests its successors.
  const published = kept && (await keysOf(world, organization));
  if (kept !== undefined && published !== undefined) writeFileSync(kept.keys, published.text);
  await expectVerdict(organization, 'verify', () => verify(world, ['--org', slug, ...withCheckpoints(kept)]));
  if (kept === undefined) return;
  if (draw.chance(0.4)) await checkFile(world, organization, kept);
  const proof = draw.pickAny(kept.proofs);
  if (proof === undefined) return;
  const found = await verify(world, [proof, ...trustOf(kept)]);
  hold(found.healthy === true, 'a proof is good for ever', () => `${proof}: ${brief(JSON.stringify(found))}`);
}

let files = 0;
/** An export that ends without a file. */
const withoutFile: Verification = {
  healthy: false,
  findings: [{ kind: 'missing', detail: 'no file was written' }],
  confirm: [],
};

/** Verifies a file of everything away from the service. */
async function checkFile(world: World, organization: ModelOrganization, kept: Kept): Promise<void> {
  await expectVerdict(organization, 'verify of a file', async () => {
    const file = join(world.directory, `evidence-${++files}.ndjson.gz`);
    const { code } = await world.command(['export', '--org', organization.slug, '--evidence', '-o', file]);
    organization.own.note(`2030 Audit events exported by ${operator()} on the command line`, code === 0);
    return existsSync(file) ? verify(world, [file, ...withCheckpoints(kept)]) : withoutFile;
  });
}

async function asAuditor(
  world: World,
  organization: ModelOrganization,
  path: string,
): Promise<string | undefined> {
  const answer = await world.ask(`/api/v1/audit/evidence/${path}`, {
    organization,
    headers: { 'x-api-key': organization.reader?.text ?? '' },
  });
  return answer?.status === 200 ? answer.text : undefined;
}

/** Public keys of an organization, newest last. */
export async function keysOf(
  world: World,
  organization: ModelOrganization,
): Promise<{ readonly text: string; readonly keys: readonly string[] } | undefined> {
  const text = await asAuditor(world, organization, 'key');
  if (text === undefined) return undefined;
  const { keys } = JSON.parse(text) as { readonly keys: readonly { readonly key: string }[] };
  return { text, keys: keys.map(({ key }) => key) };
}

/** Keeps a checkpoint, its keys and a proof: everything later must agree with them. */
export async function keepEvidence(world: World, organization: ModelOrganization, draw: Draw): Promise<void> {
  const { slug } = organization;
  const published = await keysOf(world, organization);
  const checkpoint = await asAuditor(world, organization, 'checkpoint');
  if (published === undefined || checkpoint === undefined) return;
  const file = (name: string): string => join(world.directory, `${slug}-${name}`);
  let kept = world.kept.get(slug);
  if (kept === undefined) {
    kept = { key: file('key'), keys: file('keys.json'), checkpoints: [], proofs: [] };
    // All keys: a proof has the oldest checkpoint of its event, which an earlier key may have signed.
    writeFileSync(kept.key, `${published.keys.join('\n')}\n`);
    world.kept.set(slug, kept);
  }
  writeFileSync(kept.keys, published.text);
  const place = file(`checkpoint-${kept.checkpoints.length}`);
  writeFileSync(place, checkpoint);
  kept.checkpoints.push(place);
  const size = Number(checkpoint.split('\n')[1]);
  const proof = await asAuditor(world, organization, `proof?position=${draw.int(0, size - 1)}`);
  if (proof === undefined || !isOfUnchanged(organization, proof)) return;
  const proofFile = file(`proof-${kept.proofs.length}.json`);
  writeFileSync(proofFile, proof);
  kept.proofs.push(proofFile);
}

/** A proof of an unchanged event: its source event exists and has no erased person. */
function isOfUnchanged(organization: ModelOrganization, proof: string): boolean {
  const { source } = JSON.parse(proof) as { readonly source?: string };
  if (source === undefined) return false;
  const event = organization.events.get(idIn(source) ?? '')?.event;
  return event === undefined
    ? !source.includes('erased')
    : event.persons.every(({ state }) => state === 'here');
}
