import type { Histogram } from '../api/types.ts';
import { Button } from '../ui/button.tsx';
import { formatNumber } from '../ui/number.ts';
import { t } from '../ui/text.ts';
import { fromRfc3339 } from '../api/instant.ts';
import { isNarrow } from '../ui/screen.ts';
import { stored } from '../ui/stored.ts';
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
import { heightOf, marksOf } from './scale.ts';
import { ticksOf } from './ticks.ts';

interface ChartProps {
  readonly histogram: Histogram | undefined;
  /** Of another query, until the answer to this one is here. */
  readonly isStale: boolean;
  /** Zooms to a range. */
  readonly onZoom: (range: ExactRange) => void;
}

const barHeight = 56;
/** A bar that stands for few events among many is still seen. */
const barHeightMin = 2;

/** How bars grow: with their counts, or by logarithms, where one peak would hide all others. */
const scale = stored('auditlog.scale', ['linear', 'log']);

/** Events over time: in a bar, the part that failed is red. Dragging over bars zooms in. */
export function Chart({ histogram, isStale, onZoom }: ChartProps) {
  const bars = histogram?.data ?? [];
  const width = (histogram?.meta.bucket_seconds ?? 1) * 1_000_000;
  const startOf = (index: number) => fromRfc3339(bars[index]?.start ?? '') ?? 0;
  const { hover, choice, handlers } = useBrush(bars.length, (first, last) =>
    onZoom({ from: startOf(first), to: startOf(last) + width - 1 }),
  );
  const highest = Math.max(1, ...bars.map(({ success, failure }) => success + failure));
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
        <Bars bars={bars} highest={highest} />
        {hover !== undefined && <rect class="hover" x={hover} width={1} height={barHeight} />}
        {chosen && <rect class="brush" {...chosen} height={barHeight} />}
      </svg>
      <Scale highest={highest} />
      <Ticks histogram={histogram} />
      {hover !== undefined && <Readout histogram={histogram} choice={choice ?? { from: hover, to: hover }} />}
    </div>
  );
}

function Bars({ bars, highest }: { readonly bars: Histogram['data']; readonly highest: number }) {
  const isLog = scale.value === 'log';
  return (
    <g>
      {marksOf(highest, isLog).map((mark) => {
        const y = (1 - heightOf(mark, highest, isLog)) * barHeight;
        return <line key={mark} x1={0} x2={bars.length} y1={y} y2={y} vector-effect="non-scaling-stroke" />;
      })}
      {bars.map(({ start, success, failure }, index) => {
        const total = success + failure;
        if (total === 0) return null;
        const height = Math.max(barHeightMin, heightOf(total, highest, isLog) * barHeight);
        const red = (height * failure) / total;
        const common = { x: index + 0.1, width: 0.8 };
        return (
          <g key={start}>
            {success > 0 && (
              <rect class="success" {...common} y={barHeight - height + red} height={height - red} />
            )}
            {failure > 0 && <rect class="failure-bar" {...common} y={barHeight - height} height={red} />}
          </g>
        );
      })}
    </g>
  );
}

/** What heights of bars stand for, and the switch between the two ways. */
function Scale({ highest }: { readonly highest: number }) {
  const isLog = scale.value === 'log';
  const words = t(isLog ? 'eventsScaleLog' : 'eventsScaleLinear');
  return (
    <>
      <div class="scale" aria-hidden="true">
        {marksOf(highest, isLog).map((mark) => (
          <span key={mark} style={{ bottom: `${heightOf(mark, highest, isLog) * 100}%` }}>
            {formatNumber(mark)}
          </span>
        ))}
      </div>
      <Button
        look="quiet small"
        aria-label={`${t('eventsScale')}: ${words}`}
        title={t('eventsScale')}
        onClick={() => (scale.value = isLog ? 'linear' : 'log')}
      >
        {words}
      </Button>
    </>
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
  const side =
    share > 50 ? { right: `calc(${100 - share}% + 0.5rem)` } : { left: `calc(${share}% + 1.5rem)` };
  return (
    <div class="readout" style={side} aria-live="polite">
      {t('eventsOfTime', {
        time: `${formatMoment(begins)} – ${formatMoment(ends)}`,
        n: formatNumber(total),
        failed: formatNumber(failed),
      })}
    </div>
  );
}
