import { computed } from '@preact/signals';
import { locale } from './text.ts';

const grouped = computed(() => new Intl.NumberFormat(locale.value));

/** A number with its thousands separated. */
export function formatNumber(value: number): string {
  return grouped.value.format(value);
}

const change = computed(
  () => new Intl.NumberFormat(locale.value, { style: 'percent', signDisplay: 'exceptZero' }),
);

/** A share of what was expected as a change: 1.12 is `+12%`. */
export function formatChange(ratio: number): string {
  return change.value.format(ratio - 1);
}

const share = computed(
  () => new Intl.NumberFormat(locale.value, { style: 'percent', maximumFractionDigits: 1 }),
);

/** `4.6%`. */
export function formatShare(ratio: number): string {
  return share.value.format(ratio);
}

const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte', 'petabyte'] as const;

const sized = computed(() =>
  units.map(
    (unit) =>
      new Intl.NumberFormat(locale.value, {
        style: 'unit',
        unit,
        unitDisplay: unit === 'byte' ? 'long' : 'short',
        maximumSignificantDigits: 3,
      }),
  ),
);

/** A size as people read it, `48.2 kB`: only ever beside the exact one. */
export function formatBytes(bytes: number): string {
  const power = Math.floor(Math.log10(Math.max(1, bytes)) / 3);
  const unit = Math.min(power, units.length - 1);
  return sized.value[unit]?.format(bytes / 1000 ** unit) ?? formatNumber(bytes);
}
