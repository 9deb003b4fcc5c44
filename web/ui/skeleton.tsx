/** A bar in place of a text to come; `at` makes it longer or shorter than its neighbours. */
export function Skeleton({ at }: { readonly at: number }) {
  return <span class="skeleton" style={{ width: `${40 + ((at * 7) % 50)}%` }} />;
}
