import { quantilesMs } from '../stats/histogram.ts';
import type { CaseResult, RunResult } from '../stats/result.ts';
import { type Bar, bars, colour, escapeText, latencyChart, legend, seriesChart, stacked } from './charts.ts';
import { megabytes, short } from './table.ts';

/** The run as one self-contained page: charts first, then all figures. */

const style = `
:root{--bg:#f6f7f9;--card:#fff;--text:#1c2430;--soft:#667085;--line:#e4e7ec;--a:#2563eb;--b:#94a3b8;--c:#0d9488;--d:#d97706;--e:#9333ea;--f:#db2777;--g:#65a30d;--h:#475569}
@media(prefers-color-scheme:dark){:root{--bg:#0f141b;--card:#171e28;--text:#e6eaf0;--soft:#94a0b2;--line:#2a3442;--a:#5b8dff;--b:#66758a;--c:#2dd4bf;--d:#f59e0b;--e:#c084fc;--f:#f472b6;--g:#a3e635;--h:#94a3b8}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1180px;margin:0 auto;padding:36px 28px 60px}h1{font-size:28px;margin:0 0 4px;letter-spacing:-.01em}h2{font-size:17px;margin:0 0 2px}
p{margin:0 0 14px;color:var(--soft)}.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:14px;margin:22px 0 18px}
.tile,.card{background:var(--card);border:1px solid var(--line);border-radius:10px}.tile{padding:14px 16px}.tile b{display:block;font-size:25px;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:13px}.grid2{columns:2 440px;column-gap:18px}.card{padding:18px 20px;min-width:0}.grid2 .card{break-inside:avoid;margin-bottom:18px}
svg{width:100%;height:auto;display:block}svg text{fill:var(--text);font-size:13px}svg .strong{font-weight:600}svg .end{text-anchor:end;fill:var(--soft)}svg .mid{text-anchor:middle;fill:var(--soft)}
svg .small{font-size:12px}svg .num{font-variant-numeric:tabular-nums}svg .on{text-anchor:middle;fill:#fff;font-size:12px}svg .grid{stroke:var(--line)}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;color:var(--soft);margin-top:6px}.legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;vertical-align:-1px}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}th{text-align:left;color:var(--soft);font-weight:500}th,td{padding:6px 10px 6px 0;border-bottom:1px solid var(--line);vertical-align:top}
td.r,th.r{text-align:right}ul{margin:8px 0 0;padding-left:18px;color:var(--soft);font-size:13px}code{font-size:12.5px}`;

function find(run: RunResult, id: string): CaseResult | undefined {
  return run.cases.find((one) => one.id === id);
}

function tile(value: string, label: string): string {
  return `<div class="tile"><b>${escapeText(value)}</b><span>${escapeText(label)}</span></div>`;
}

function tiles(run: RunResult): string {
  const out: string[] = [];
  const ingest = find(run, 'ingest.batches');
  if (ingest) {
    out.push(tile(short(ingest.service.rate.median), 'events a second, durable and readable'));
    const [p99 = 0] = quantilesMs(ingest.service.latency ?? [], [0.99]);
    out.push(tile(`${short(p99)} ms`, 'acknowledgement of 1000 events, p99'));
  }
  const single = find(run, 'ingest.single');
  if (single) out.push(tile(short(single.service.rate.median), 'single events a second, each durable'));
  const page = find(run, 'read.page');
  if (page) {
    out.push(tile(short(page.service.rate.median), 'pages of 1000 events a second'));
    if (page.ratio)
      out.push(tile(page.ratio.median.toFixed(2), 'of the bare engine for a page and its total'));
  }
  const exported = find(run, 'export.ndjson');
  if (exported) out.push(tile(short(exported.service.rate.median), 'events a second exported'));
  return `<div class="tiles">${out.slice(0, 6).join('')}</div>`;
}

function card(title: string, words: string, body: string): string {
  return body === '' ? '' : `<section class="card"><h2>${title}</h2><p>${words}</p>${body}</section>`;
}

/** Short name of the reference. */
function referenceLabel(id: string): string {
  if (id.startsWith('micro.')) return 'platform';
  if (id.startsWith('peers.postgres.')) return 'PostgreSQL';
  if (id.startsWith('peers.clickhouse.')) return 'ClickHouse';
  if (id.startsWith('mixed.')) return 'without writes';
  return id === 'read.pass-through' ? 'pass-through' : 'bare engine';
}

/** The service and its reference as bars, a group a case. */
function throughput(run: RunResult, wanted: (id: string) => boolean): string {
  const groups = run.cases
    .filter(({ id, reference }) => wanted(id) && reference !== undefined)
    .map(({ id, title, unit, service, reference, ratio }) => ({
      name: `${title.replace(/, \d+ clients?.*$/, '').replace(/, \d+ events$/, '')}  ·  ${ratio?.median.toFixed(2) ?? ''}`,
      bars: [
        {
          label: 'service',
          value: service.rate.median,
          text: `${short(service.rate.median)} ${unit}/s`,
          colour: colour(0),
        },
        {
          label: referenceLabel(id),
          value: reference?.side.rate.median ?? 0,
          text: `${short(reference?.side.rate.median ?? 0)} ${unit}/s`,
          colour: colour(1),
        },
      ] satisfies Bar[],
    }));
  return groups.length === 0 ? '' : bars(groups);
}

function latency(run: RunResult): string {
  const lines = [
    ['ingest.batches', 'acknowledge 1000 events'],
    ['ingest.single', 'acknowledge one event'],
    ['read.page', 'page of 1000'],
    ['mixed.page', 'page while writing'],
  ].flatMap(([id = '', name = '']) => {
    const data = find(run, id)?.service.latency;
    return data === undefined ? [] : [{ name, data }];
  });
  return lines.length === 0 ? '' : latencyChart(lines);
}

/** Processor time per unit, by process. */
function whereTimeGoes(run: RunResult): string {
  const rows = [
    ['ingest.batches', 'an event, in batches'],
    ['ingest.single', 'an event, alone'],
    ['read.page', 'a page of 1000'],
    ['read.deep', 'a deep page'],
  ].flatMap(([id = '', name = '']) => {
    const { serviceMicros, engineMicros, generatorMicros } = find(run, id)?.service ?? {};
    if (serviceMicros === undefined || engineMicros === undefined) return [];
    return [{ name, parts: [serviceMicros, engineMicros, generatorMicros ?? 0] }];
  });
  return rows.length === 0 ? '' : stacked(rows, 'µs') + legend(['service', 'engine', 'load generator']);
}

/** A worker's steps for an event, as shares of the total time. */
function insideTheWorker(run: RunResult): string {
  const micros = (id: string): number => {
    const rate = find(run, id)?.service.rate.median;
    return rate === undefined ? 0 : 1e6 / rate;
  };
  const [map, validate, render, native] = ['micro.map', 'micro.validate', 'micro.render', 'micro.native'].map(
    micros,
  );
  if (!map || !validate || !render || !native) return '';
  const rows = [
    { name: 'an event', parts: [Math.max(0, map - validate - render), validate, render, native] },
  ];
  return stacked(rows, 'µs') + legend(['scan, redact, map', 'validate', 'render', 'encode Native']);
}

function figures(run: RunResult): string {
  const rows = run.cases.map(({ id, title, unit, service, reference, ratio, notes, bytes = {} }) => {
    const sizes = Object.entries(bytes).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name} ${megabytes(value)}`],
    );
    const more = [...notes, ...(sizes.length > 0 ? [sizes.join(', ')] : [])];
    const beside = reference === undefined ? '' : short(reference.side.rate.median);
    const range =
      ratio === undefined
        ? ''
        : `${ratio.median.toFixed(2)} <small>(${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)})</small>`;
    return `<tr><td><code>${id}</code></td><td>${escapeText(title)}<ul>${more.map((note) => `<li>${escapeText(note)}</li>`).join('')}</ul></td><td class="r">${short(service.rate.median)}<br><small>${unit}/s</small></td><td class="r">${beside}</td><td class="r">${range}</td></tr>`;
  });
  return `<div class="scroll"><table><thead><tr><th>case</th><th>what</th><th class="r">service</th><th class="r">reference</th><th class="r">ratio (95 %)</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

export function reportPage(run: RunResult): string {
  const { machine, startedAt, commit } = run;
  const soak = run.series.filter(({ id }) => id.startsWith('soak'));
  const growth = run.series.find(({ id }) => id === 'growth');
  const isFilter = (id: string): boolean => /^read\.(actor|fileName|userId|fileHash|flow)/.test(id);
  const where = whereTimeGoes(run);
  const inside = insideTheWorker(run);
  const cards = [
    card(
      'Beside the bare engine',
      'The same rows and the same answers with nothing in between. Behind each name: service over reference.',
      throughput(
        run,
        (id) => /^(ingest|export|mixed)\./.test(id) || (id.startsWith('read.') && !isFilter(id)),
      ),
    ),
    card('Latency', 'How slow the slowest were, at full load.', latency(run)),
    card(
      'Where the time goes',
      'Processor time by process, for one event or one page.',
      where +
        (inside === ''
          ? ''
          : `<h2 style="margin-top:20px">Inside a worker</h2><p>Steps of one event, on one thread.</p>${inside}`),
    ),
    growth === undefined
      ? ''
      : card(
          'Growth',
          'Time for one page, all cores working, when the organization has ten times the events.',
          seriesChart(growth),
        ),
    ...soak.map((series) => card(escapeText(series.title), 'Sampled every second.', seriesChart(series))),
    card('Filtered reads', 'Page and exact total, with many, few and no matches.', throughput(run, isFilter)),
    card(
      'Beside a usual build',
      'Fastify with PostgreSQL 15, and with ClickHouse by asynchronous inserts; same machine, same load.',
      throughput(run, (id) => id.startsWith('peers.')),
    ),
    card(
      'Code beside the platform',
      'Each piece next to plain JavaScript doing comparable work on the same data.',
      throughput(run, (id) => id.startsWith('micro.')),
    ),
  ];
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Audit log service: measured</title><style>${style}</style><main>
<h1>Audit log service, measured</h1><p>${startedAt.slice(0, 10)} · ${machine.cores} cores (${escapeText(machine.cpu)}), ${machine.memoryGigabytes} GB · Node ${escapeText(machine.node)} · load generator on the same cores · commit ${escapeText(commit)}</p>
${tiles(run)}<div class="grid2">${cards.join('')}</div>
<section class="card wide"><h2>All figures</h2><p>Medians of short slices that alternate between both sides; intervals by bootstrap.</p>${figures(run)}${run.skipped.map((why) => `<p>Left out: ${escapeText(why)}</p>`).join('')}</section></main></html>
`;
}
