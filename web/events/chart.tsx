import type { Histogram } from '../api/types.ts';
import { formatNumber } from '../ui/number.ts';
import { t } from '../ui/text.ts';
import { fromRfc3339 } from '../api/instant.ts';
import { isNarrow } from '../ui/screen.ts';
import {
  formatDay,
  formatDuration,
  formatMinute,
  formatMoment,
  formatSecond,
  startOfDay,
} from '../ui/time.ts';
import { type Choice, useBrush } from './brush.ts';
import type { ExactRange } from './query.ts';
import { ticksOf } from './ticks.ts';

interface ChartProps {
  readonly histogram: Histogram | undefined;
  /** Of another query, until the answer to this one is here. */
  readonly isStale: boolean;
  /** Zooms to a range. */
  readonly onZoom: (range: ExactRange) => void;
}

const barHeight = 56;
/** A bar that stands for few events among many is still seen; what failed of them is a line on top. */
const barHeightMin = 2;
const failureHeightMin = 1;

/** Events over time: what succeeded and, on top of it in red, what failed. Dragging over bars zooms in. */
export function Chart({ histogram, isStale, onZoom }: ChartProps) {
  const bars = histogram?.data ?? [];
  const width = (histogram?.meta.bucket_seconds ?? 1) * 1_000_000;
  const startOf = (index: number) => fromRfc3339(bars[index]?.start ?? '') ?? 0;
  const { hover, choice, handlers } = useBrush(bars.length, (first, last) =>
    onZoom({ from: startOf(first), to: startOf(last) + width - 1 }),
  );
  const failed = bars.reduce((sum, { failure }) => sum + failure, 0);
  const label = t('eventsChart', {
    total: formatNumber(histogram?.meta.total ?? 0),
    failed: formatNumber(failed),
    width: formatDuration(width),
  });
  const chosen = choice && {
    x: Math.min(choice.from, choice.to),
    width: Math.abs(choice.to - choice.from) + 1,
  };
  return (
    <div class="chart" data-stale={isStale}>
      <svg
        role="application"
        tabIndex={0}
        aria-label={label}
        viewBox={`0 0 ${Math.max(1, bars.length)} ${barHeight}`}
        preserveAspectRatio="none"
        {...handlers}
      >
        <Bars histogram={histogram} />
        {hover !== undefined && <rect class="hover" x={hover} width={1} height={barHeight} />}
        {chosen && <rect class="brush" {...chosen} height={barHeight} />}
      </svg>
      <Ticks histogram={histogram} />
      {hover !== undefined && <Readout histogram={histogram} choice={choice ?? { from: hover, to: hover }} />}
    </div>
  );
}

function Bars({ histogram }: { readonly histogram: Histogram | undefined }) {
  const bars = histogram?.data ?? [];
  const highest = Math.max(1, ...bars.map(({ success, failure }) => success + failure));
  const heightOf = (count: number, least: number) =>
    count === 0 ? 0 : Math.max(least, (count / highest) * barHeight);
  return (
    <g>
      {bars.map(({ start, success, failure }, index) => {
        const low = heightOf(success, barHeightMin);
        const high = heightOf(failure, success === 0 ? barHeightMin : failureHeightMin);
        const common = { x: index + 0.1, width: 0.8 };
        return (
          <g key={start}>
            {success > 0 && <rect class="success" {...common} y={barHeight - low} height={low} />}
            {failure > 0 && (
              <rect class="failure-bar" {...common} y={Math.max(0, barHeight - low - high)} height={high} />
            )}
          </g>
        );
      })}
    </g>
  );
}

/** Round times below the bars, as many as there is room for. */
function Ticks({ histogram }: { readonly histogram: Histogram | undefined }) {
  const bars = histogram?.data ?? [];
  const from = fromRfc3339(bars[0]?.start ?? '');
  const length = bars.length * (histogram?.meta.bucket_seconds ?? 1) * 1_000_000;
  const shown = from === undefined ? [] : ticksOf([from, from + length], isNarrow.value ? 4 : 8, startOfDay);
  return (
    <div class="ticks" aria-hidden="true">
      {shown.map(({ micros, isDay }) => {
        const share = (micros - (from ?? 0)) / length;
        // The last one would be cut.
        if (share > (isNarrow.value ? 0.86 : 0.96)) return null;
        return (
          <span key={micros} style={{ left: `${share * 100}%` }}>
            {isDay
              ? formatDay(micros)
              : micros % 60_000_000 === 0
                ? formatMinute(micros)
                : formatSecond(micros)}
          </span>
        );
      })}
    </div>
  );
}

/** What the bars that are pointed at stand for. */
function Readout({
  histogram,
  choice,
}: {
  readonly histogram: Histogram | undefined;
  readonly choice: Choice;
}) {
  const bars = histogram?.data ?? [];
  const [first, last] = [Math.min(choice.from, choice.to), Math.max(choice.from, choice.to)];
  const chosen = bars.slice(first, last + 1);
  const start = chosen[0]?.start;
  if (start === undefined) return null;
  const failed = chosen.reduce((sum, { failure }) => sum + failure, 0);
  const total = chosen.reduce((sum, { success, failure }) => sum + success + failure, 0);
  const begins = fromRfc3339(start) ?? 0;
  const ends = begins + chosen.length * (histogram?.meta.bucket_seconds ?? 0) * 1_000_000;
  const share = (first / bars.length) * 100;
  const side = share > 50 ? { right: `calc(${100 - share}% + 8px)` } : { left: `calc(${share}% + 24px)` };
  return (
    <div class="readout" style={side} aria-live="polite">
      {t('eventsChartBar', {
        time: `${formatMoment(begins)} – ${formatMoment(ends)}`,
        n: formatNumber(total),
        failed: formatNumber(failed),
      })}
    </div>
  );
}
