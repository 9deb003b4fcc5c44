import { computed } from '@preact/signals';
import { language } from './text.ts';

const grouped = computed(() => new Intl.NumberFormat(language.value));

/** A number with its thousands separated. */
export function formatNumber(value: number): string {
  return grouped.value.format(value);
}
