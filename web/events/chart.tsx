import type { Histogram } from '../api/types.ts';
import { formatNumber } from '../ui/number.ts';
import { t } from '../ui/text.ts';
import { fromRfc3339 } from '../api/instant.ts';
import { formatDay, formatDuration, formatMinute, formatMoment } from '../ui/time.ts';
import { type Choice, useBrush } from './brush.ts';
import type { ExactRange } from './query.ts';

interface ChartProps {
  readonly histogram: Histogram | undefined;
  /** Zooms to a range. */
  readonly onZoom: (range: ExactRange) => void;
}

const barHeight = 56;
/** A bar that stands for few events among many is still seen. */
const barHeightMin = 2;
const ticks = 6;

/** Events over time: what succeeded and, on top of it in red, what failed. Dragging over bars zooms in. */
export function Chart({ histogram, onZoom }: ChartProps) {
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
    <div class="chart">
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
  const heightOf = (count: number) =>
    count === 0 ? 0 : Math.max(barHeightMin, (count / highest) * barHeight);
  return (
    <g>
      {bars.map(({ start, success, failure }, index) => {
        const [low, high] = [heightOf(success), heightOf(failure)];
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

/** Times below the bars, as many as there is room for. */
function Ticks({ histogram }: { readonly histogram: Histogram | undefined }) {
  const bars = histogram?.data ?? [];
  const isLong = (histogram?.meta.bucket_seconds ?? 0) * bars.length > 2 * 86_400;
  const every = Math.max(1, Math.ceil(bars.length / ticks));
  const shown = bars.map(({ start }, index) => ({ start, index })).filter(({ index }) => index % every === 0);
  return (
    <div class="ticks" aria-hidden="true">
      {shown.map(({ start, index }) => {
        const micros = fromRfc3339(start) ?? 0;
        return (
          <span key={start} style={{ left: `${(index / bars.length) * 100}%` }}>
            {isLong ? formatDay(micros) : formatMinute(micros)}
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
