import { strict as assert } from 'node:assert';
import type { CommandSchemas } from '../../schema/commands.d.ts';
import { eventually } from './http.ts';
import type { SharedServer } from './server.ts';

/** The output of `verify --json`, and its exit code. */
export type Verification = CommandSchemas['CliVerification'] & { readonly code: number | null };

export async function verifyOn(server: SharedServer, args: readonly string[]): Promise<Verification> {
  const { code, stdout, stderr } = await server.cliHere(['verify', ...args, '--json']);
  assert.ok(stdout !== '', stderr);
  return { code, ...(JSON.parse(stdout) as CommandSchemas['CliVerification']) };
}

/** Waits until all recorded events are covered, because a policy counts only with its event in the tree. */
export function healthyOn(server: SharedServer, slug: string): Promise<Verification> {
  return eventually('a good verification', async () => {
    const report = await verifyOn(server, ['--org', slug]);
    return report.healthy ? report : undefined;
  });
}
