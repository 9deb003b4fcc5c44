import { signal } from '@preact/signals';

const narrow = matchMedia('(max-width: 720px)');

/** A phone: rows have two lines, panels are pages. */
export const isNarrow = signal(narrow.matches);
narrow.addEventListener('change', () => {
  isNarrow.value = narrow.matches;
});
