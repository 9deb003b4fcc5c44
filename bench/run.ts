import { readOptions } from './options.ts';
import { openLab } from './lab/lab.ts';
import { benchIngest, benchSingles, prepareIngest } from './cases/ingest.ts';

const options = readOptions(process.argv.slice(2));
const lab = await openLab(options.url);
try {
  const t = performance.now();
  const ready = await prepareIngest(lab, { events: options.rows, slices: 10, clients: options.clients });
  process.stdout.write(`prepared ${performance.now() - t}\n`);
  const r = await benchIngest(ready);
  process.stdout.write(JSON.stringify({ ...r, service: { ...r.service, latency: 0 }, reference: { ...r.reference, side: { ...r.reference?.side, latency: 0 } } }, null, 1));
  const s = await benchSingles(ready, options.seconds);
  process.stdout.write(JSON.stringify({ ...s, service: { ...s.service, latency: 0 } }, null, 1));
} finally {
  await lab.close();
}
