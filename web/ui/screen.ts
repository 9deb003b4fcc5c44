import { signal } from '@preact/signals';

const narrow = matchMedia('(max-width: 45em)');

/** A phone, or as little room for letters as on one: rows have two lines, panels are pages. */
export const isNarrow = signal(narrow.matches);
narrow.addEventListener('change', () => {
  isNarrow.value = narrow.matches;
});
