import { readFile } from 'node:fs/promises';
import { askedGauge, gauge } from '../base/observability/metrics.ts';
import { limits } from './limits.ts';
import type { Storage } from './storage.ts';

interface Watched {
  readonly storage: Pick<Storage, 'rows'>;
  readonly engine: { pid(): number | undefined } | undefined;
}

export function showEngine({ storage, engine }: Watched): void {
  const parts = {
    name: 'auditlog_engine_partition_parts',
    help: 'Active parts of the partition with the most; the engine slows down writes at 1,000',
    labelNames: [],
    ageName: 'auditlog_engine_partition_parts_age_seconds',
  };
  const ask = () => mostParts(storage);
  askedGauge(parts, ask, (it, most) => it.set(most));
  if (engine === undefined) return;
  const memory = 'Memory in use by the embedded engine';
  gauge('auditlog_engine_resident_memory_bytes', memory, [], async (it) =>
    it.set(await residentBytes(engine.pid())),
  );
}

async function mostParts(storage: Pick<Storage, 'rows'>): Promise<number> {
  try {
    const [row] = await storage.rows<{ most: string }>(
      `SELECT toString(max(parts)) AS most FROM (SELECT count() AS parts FROM system.parts
       WHERE database = currentDatabase() AND active GROUP BY table, partition_id)`,
      {},
      { signal: AbortSignal.timeout(limits.readinessMsMax) },
    );
    return Number(row?.most ?? Number.NaN);
  } catch {
    return Number.NaN;
  }
}

async function residentBytes(pid: number | undefined): Promise<number> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  } catch {
    return Number.NaN;
  }
}
