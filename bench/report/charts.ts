import { type HistogramData, quantilesMs } from '../stats/histogram.ts';
import type { Series } from '../stats/result.ts';
import { short } from './table.ts';

/** Charts as SVG text: no script, no font, nothing from elsewhere. Colours are the page's CSS variables. */

export function escapeText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

const colours = [
  'var(--a)',
  'var(--b)',
  'var(--c)',
  'var(--d)',
  'var(--e)',
  'var(--f)',
  'var(--g)',
  'var(--h)',
];
export const colour = (index: number): string => colours[index % colours.length] as string;

export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly text: string;
  readonly colour: string;
}

/** Horizontal bars under a heading each; the longest is the width. */
export function bars(groups: readonly { readonly name: string; readonly bars: readonly Bar[] }[]): string {
  const labelWidth = 128;
  const width = 540;
  const span = width - labelWidth - 140;
  let y = 4;
  let body = '';
  for (const { name, bars: own } of groups) {
    const most = Math.max(...own.map(({ value }) => value), Number.MIN_VALUE);
    body += `<text x="0" y="${y + 13}" class="strong">${escapeText(name)}</text>`;
    y += 22;
    for (const { label, value, text, colour } of own) {
      const length = Math.max(2, (value / most) * span);
      body +=
        `<text x="${labelWidth - 10}" y="${y + 14}" class="end">${escapeText(label)}</text>` +
        `<rect x="${labelWidth}" y="${y}" width="${length.toFixed(1)}" height="19" rx="3" fill="${colour}"/>` +
        `<text x="${(labelWidth + length + 8).toFixed(1)}" y="${y + 14}" class="num">${escapeText(text)}</text>`;
      y += 24;
    }
    y += 12;
  }
  return `<svg viewBox="0 0 ${width} ${y}" role="img">${body}</svg>`;
}

/** Parts of a whole, one line each: where the time goes. */
export function stacked(
  rows: readonly { readonly name: string; readonly parts: readonly number[] }[],
  unit: string,
): string {
  const labelWidth = 128;
  const width = 540;
  const span = width - labelWidth - 110;
  let y = 4;
  let body = '';
  for (const { name, parts } of rows) {
    const whole = parts.reduce((sum, part) => sum + part, 0);
    body += `<text x="${labelWidth - 10}" y="${y + 16}" class="end">${escapeText(name)}</text>`;
    let x = labelWidth;
    for (const [index, part] of parts.entries()) {
      const length = (part / whole) * span;
      const share = Math.round((part / whole) * 100);
      body += `<rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(0, length - 1).toFixed(1)}" height="23" rx="2" fill="${colour(index)}"/>`;
      if (length > 38)
        body += `<text x="${(x + length / 2).toFixed(1)}" y="${y + 16}" class="on">${share} %</text>`;
      x += length;
    }
    body += `<text x="${x + 8}" y="${y + 16}" class="num">${short(whole)} ${escapeText(unit)}</text>`;
    y += 31;
  }
  return `<svg viewBox="0 0 ${width} ${y}" role="img">${body}</svg>`;
}

interface Frame {
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
  readonly top: number;
}

const frame: Frame = { width: 540, height: 280, left: 52, bottom: 44, right: 26, top: 12 };

interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

interface Axis {
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly log: boolean;
  readonly ticks: readonly (readonly [at: number, text: string])[];
}

function place({ min, max, log }: Axis, value: number, from: number, to: number): number {
  const scale = (one: number): number => (log ? Math.log10(one) : one);
  const share = (scale(Math.max(value, log ? min : value)) - scale(min)) / (scale(max) - scale(min) || 1);
  return from + share * (to - from);
}

/** Round values that fill an axis from 0. */
function linearTicks(max: number): number[] {
  const rough = max / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  return Array.from({ length: Math.floor(max / step) + 1 }, (_, index) => index * step);
}

function decades(min: number, max: number): number[] {
  const ticks: number[] = [];
  for (let at = 10 ** Math.ceil(Math.log10(min) - 1e-9); at <= max * 1.0001; at *= 10) ticks.push(at);
  return ticks;
}

function compact(value: number): string {
  if (value >= 1e6) return `${value / 1e6} M`;
  if (value >= 1e4) return `${value / 1e3} k`;
  return String(Number(value.toPrecision(3)));
}

function plot(x: Axis, y: Axis, lines: readonly Line[]): string {
  const { width, height, left, bottom, right, top } = frame;
  const px = (value: number): number => place(x, value, left, width - right);
  const py = (value: number): number => place(y, value, height - bottom, top);
  let body = '';
  for (const [at, text] of y.ticks) {
    const line = py(at).toFixed(1);
    body += `<line x1="${left}" x2="${width - right}" y1="${line}" y2="${line}" class="grid"/>`;
    body += `<text x="${left - 8}" y="${Number(line) + 4}" class="end small">${escapeText(text)}</text>`;
  }
  for (const [at, text] of x.ticks) {
    body += `<text x="${px(at).toFixed(1)}" y="${height - bottom + 18}" class="mid small">${escapeText(text)}</text>`;
  }
  body += `<text x="${(left + width - right) / 2}" y="${height - 8}" class="mid small">${escapeText(x.label)}</text>`;
  body += `<text x="12" y="${(height - bottom + top) / 2}" class="mid small" transform="rotate(-90 12 ${(height - bottom + top) / 2})">${escapeText(y.label)}</text>`;
  for (const [index, { points }] of lines.entries()) {
    const path = points.map(([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`).join(' ');
    body += `<polyline points="${path}" fill="none" stroke="${colour(index)}" stroke-width="2.2" stroke-linejoin="round"/>`;
    if (points.length <= 3)
      for (const [a, b] of points)
        body += `<circle cx="${px(a).toFixed(1)}" cy="${py(b).toFixed(1)}" r="3.6" fill="${colour(index)}"/>`;
  }
  return `<svg viewBox="0 0 ${width} ${height}" role="img">${body}</svg>${legend(lines.map(({ name }) => name))}`;
}

export function legend(names: readonly string[]): string {
  const items = names.map(
    (name, index) => `<span><i style="background:${colour(index)}"></i>${escapeText(name)}</span>`,
  );
  return `<div class="legend">${items.join('')}</div>`;
}

/** Latency by the share of slower answers, which gives the tail more room. */
export function latencyChart(
  lines: readonly { readonly name: string; readonly data: HistogramData }[],
): string {
  const shares = Array.from({ length: 121 }, (_, index) => 1 - 10 ** (-index / 40));
  const drawn = lines.map(({ name, data }) => ({
    name,
    points: quantilesMs(data, shares).map((ms, index) => [10 ** (index / 40), Math.max(0.01, ms)] as const),
  }));
  const values = drawn.flatMap(({ points }) => points.map(([, ms]) => ms));
  const [min, max] = [Math.min(...values) * 0.8, Math.max(...values) * 1.2];
  const y: Axis = {
    label: 'milliseconds',
    min,
    max,
    log: true,
    ticks: decades(min / 10, max)
      .flatMap((at) => [at, at * 2, at * 5])
      .filter((at) => at >= min && at <= max)
      .map((at) => [at, compact(at)] as const),
  };
  const x: Axis = {
    label: 'share of answers at most this slow',
    min: 1,
    max: 1000,
    log: true,
    ticks: [
      [1, 'fastest'],
      [2, '50 %'],
      [10, '90 %'],
      [100, '99 %'],
      [1000, '99.9 %'],
    ],
  };
  return plot(x, y, drawn);
}

export function seriesChart(series: Series): string {
  const xs = series.lines.flatMap(({ points }) => points.map(([x]) => x));
  const ys = series.lines.flatMap(({ points }) => points.map(([, y]) => y));
  const log = series.id === 'growth';
  const [xMin, xMax] = [Math.min(...xs), Math.max(...xs)];
  const yMax = Math.max(...ys) * 1.08;
  const xTicks = log ? [...new Set(xs)] : linearTicks(xMax);
  return plot(
    {
      label: series.x,
      min: log ? xMin * 0.8 : 0,
      max: log ? xMax * 1.25 : xMax,
      log,
      ticks: xTicks.map((at) => [at, compact(at)]),
    },
    {
      label: series.y,
      min: 0,
      max: yMax,
      log: false,
      ticks: linearTicks(yMax).map((at) => [at, compact(at)]),
    },
    series.lines,
  );
}
