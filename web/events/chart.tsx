import { fromRfc3339 } from '../api/instant.ts';
import type { Histogram } from '../api/types.ts';
import { isNarrow, stored } from '../ui/browser.ts';
import { Button } from '../ui/button.tsx';
import {
  formatDay,
  formatDuration,
  formatMinute,
  formatSecond,
  formatSpan,
  startOfDay,
} from '../ui/format.ts';
import { Loaded } from '../ui/resource.tsx';
import { formatNumber, t } from '../ui/text.ts';
import { useBrush } from './brush.ts';
import { model } from './model.ts';
import { heightOf, marksOf, topOf } from './scale.ts';
import { ticksOf } from './ticks.ts';

const barHeight = 56;
/** Pixels; keeps a bar of few events visible. */
const barHeightMin = 2;

/** Heights by count, or by logarithm so that one peak does not hide the others. */
const scale = stored('auditlog.scale', ['linear', 'log']);

type Bars = Histogram['data'];

function sumOf(bars: Bars) {
  const failed = bars.reduce((sum, { failure }) => sum + failure, 0);
  return { total: bars.reduce((sum, { success }) => sum + success, failed), failed };
}

export function Chart() {
  const { isStale, isLoading } = model.histogram;
  return (
    <div class="chart fine muted" data-stale={isStale.value} aria-busy={isLoading.value}>
      <Loaded resource={model.histogram} isSmall>
        {(histogram) =>
          histogram.meta.total === 0 ? (
            <p class="state-line">{t('eventsChartEmpty')}</p>
          ) : (
            <BarChart histogram={histogram} />
          )
        }
      </Loaded>
    </div>
  );
}

/** The failed share of a bar is red. Dragging over bars zooms in. */
function BarChart({ histogram }: { readonly histogram: Histogram }) {
  const { data: bars, meta } = histogram;
  const width = meta.bucket_seconds * 1_000_000;
  const from = fromRfc3339(bars[0]?.start ?? '');
  const startOf = (index: number) => fromRfc3339(bars[index]?.start ?? '') ?? 0;
  // The range may begin or end within a bar: the rest of that bar is not counted.
  const [begins = 0, ends = Number.POSITIVE_INFINITY] = [meta.start, meta.end].map((text) =>
    fromRfc3339(text ?? ''),
  );
  const rangeOf = (first: number, last: number) => ({
    from: Math.max(begins, startOf(first)),
    to: Math.min(ends, startOf(last) + width - 1),
  });
  const { hover, chosen, handlers } = useBrush(bars.length, (first, last) =>
    model.change({ range: rangeOf(first, last) }),
  );
  const counts = bars.map(({ success, failure }) => success + failure);
  const highest = topOf(counts, scale.value === 'log');
  const cut = counts.findIndex((count) => count > highest);
  const outlier = cut < 0 ? '' : t('eventsOutlier', { n: counts[cut] ?? 0 });
  const { failed } = sumOf(bars);
  const label = t('eventsChart', { total: meta.total, failed, width: formatDuration(width) });
  const pointed = chosen ?? (hover === undefined ? undefined : { first: hover, count: 1 });
  return (
    <>
      <svg
        role="application"
        tabIndex={0}
        aria-label={`${label} ${outlier}`.trim()}
        viewBox={`0 0 ${Math.max(1, bars.length)} ${barHeight}`}
        preserveAspectRatio="none"
        {...handlers}
      >
        <Bars bars={bars} highest={highest} />
        {pointed && <rect fill="var(--shade)" x={pointed.first} width={pointed.count} height={barHeight} />}
      </svg>
      {cut >= 0 && (
        <span class="outlier" aria-hidden="true" style={{ '--at': (cut + 0.5) / bars.length }}>
          {outlier}
        </span>
      )}
      <Scale highest={highest} />
      <div class="ticks" aria-hidden="true">
        {from !== undefined && <Ticks from={from} length={bars.length * width} />}
      </div>
      {pointed && bars[pointed.first] && (
        <Readout bars={bars} {...pointed} {...rangeOf(pointed.first, pointed.first + pointed.count - 1)} />
      )}
    </>
  );
}

function Bars({ bars, highest }: { readonly bars: Bars; readonly highest: number }) {
  const isLog = scale.value === 'log';
  const heightOfCount = (count: number) => heightOf(count, highest, isLog) * barHeight;
  return (
    <g>
      {marksOf(highest, isLog).map((mark) => {
        const y = barHeight - heightOfCount(mark);
        return (
          <line
            key={mark}
            x2={bars.length}
            y1={y}
            y2={y}
            stroke="var(--grey-4)"
            vector-effect="non-scaling-stroke"
          />
        );
      })}
      {bars.map(({ start, success, failure }, index) => {
        const total = success + failure;
        if (total === 0) return null;
        const height = Math.max(barHeightMin, heightOfCount(total));
        const red = (height * failure) / total;
        const [top, common] = [barHeight - height, { x: index + 0.1, width: 0.8 }];
        return (
          <g key={start}>
            {success > 0 && (
              <rect class="success" fill="var(--grey-6)" {...common} y={top + red} height={height - red} />
            )}
            {failure > 0 && (
              <rect class="failure-bar" fill="var(--failure)" {...common} y={top} height={red} />
            )}
          </g>
        );
      })}
    </g>
  );
}

function Scale({ highest }: { readonly highest: number }) {
  const isLog = scale.value === 'log';
  const words = t(`scale_${scale.value}`);
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

/** Round times below the bars. The last one is left out: it would be cut. */
function Ticks({ from, length }: { readonly from: number; readonly length: number }) {
  const [most, end] = isNarrow.value ? [4, 0.86] : [8, 0.96];
  const ticks = ticksOf([from, from + length], most, startOfDay);
  return ticks
    .filter(({ micros }) => micros - from <= end * length)
    .map(({ micros, isDay }) => {
      const format = isDay ? formatDay : micros % 60_000_000 === 0 ? formatMinute : formatSecond;
      return (
        <span key={micros} style={{ left: `${((micros - from) / length) * 100}%` }}>
          {format(micros)}
        </span>
      );
    });
}

interface ReadoutProps {
  readonly bars: Bars;
  readonly first: number;
  readonly count: number;
  /** Unix microseconds, both inclusive. */
  readonly from: number;
  readonly to: number;
}

function Readout({ bars, first, count, from, to }: ReadoutProps) {
  const { total, failed } = sumOf(bars.slice(first, first + count));
  const share = (first / bars.length) * 100;
  const side =
    share > 50 ? { right: `calc(${100 - share}% + 0.5rem)` } : { left: `calc(${share}% + 1.5rem)` };
  return (
    <div class="readout over" style={side} aria-live="polite">
      {t('eventsOfTime', { time: formatSpan(from, to), n: total, failed })}
    </div>
  );
}
