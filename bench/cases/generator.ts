import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { startGenerator } from '../load/generator-process.ts';
import type { Job } from '../load/job.ts';
import type { CaseResult } from '../stats/result.ts';
import { median, summarize } from '../stats/summary.ts';

/** Requests with the sizes of the other cases, to a server that does nothing with them. */
const kinds = [
  { id: 'generator.small', title: 'requests with one event, 64 clients', clients: 64, up: 700, down: 0 },
  { id: 'generator.batch', title: 'requests with 1000 events, 8 clients', clients: 8, up: 700_000, down: 0 },
  { id: 'generator.page', title: 'pages of 1000 events, 8 clients', clients: 8, up: 0, down: 1_100_000 },
];
const rounds = 5;

/** Measures the load generator's own cost and maximum rate, which bounds all figures. */
export async function benchGenerator(seconds: number): Promise<CaseResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'auditlog-bench-'));
  const dataFile = join(directory, 'bodies');
  writeFileSync(dataFile, Buffer.alloc(700_000, 0x20));
  const server = spawn(
    process.execPath,
    [fileURLToPath(new URL('../load/null-server.js', import.meta.url))],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const generator = startGenerator();
  try {
    const [line] = (await once(server.stdout, 'data')) as [Buffer];
    const target = { host: '127.0.0.1', port: Number(line.toString()) };
    const results: CaseResult[] = [];
    for (const { id, title, clients, up, down } of kinds) {
      const job: Job = {
        targets: [target],
        heads: [`${up > 0 ? 'POST /' : `GET /size/${down}`} HTTP/1.1\r\nHost: bench\r\n`],
        steps: [[up > 0 ? { target: 0, head: 0, body: { offset: 0, length: up } } : { target: 0, head: 0 }]],
        clients,
        stop: { seconds: seconds / rounds },
        dataFile,
        status: up > 0 ? 202 : 200,
      };
      const rates: number[] = [];
      const costs: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const { steps, startedMs, endedMs, cpuMicros } = await generator.run(job);
        rates.push(steps / ((endedMs - startedMs) / 1000));
        costs.push(cpuMicros / steps);
      }
      results.push({
        id,
        title,
        unit: 'requests',
        service: { rate: summarize(rates), generatorMicros: median(costs) },
        notes: ['against a server that does nothing: the ceiling of every other figure'],
      });
    }
    return results;
  } finally {
    generator.stop();
    server.stdin.end();
    await rm(directory, { recursive: true, force: true });
  }
}
