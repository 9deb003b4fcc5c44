import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The output of promtool; undefined if not installed. */
export async function promtool(
  args: readonly string[],
  stdin = '',
): Promise<{ readonly code: number; readonly text: string } | undefined> {
  const child = spawn('promtool', args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const pieces: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => pieces.push(piece));
  const failed = once(child, 'error').then(([error]) => error as NodeJS.ErrnoException);
  const ended = once(child, 'close').then(([code]) => Number(code));
  child.stdin.on('error', () => undefined); // One that is not there, or has seen enough, takes no more.
  child.stdin.end(stdin);
  const outcome = await Promise.race([failed, ended]);
  if (typeof outcome === 'number') return { code: outcome, text: Buffer.concat(pieces).toString('utf8') };
  if (outcome.code === 'ENOENT') return undefined;
  throw outcome;
}
