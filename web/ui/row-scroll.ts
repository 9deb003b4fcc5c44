import { computed, signal } from '@preact/signals';

/** Browsers lay out at most some 30 million pixels; above this bound a pixel of the bar stands for several rows. */
const heightPixelsMax = 8_000_000;
/** After scrolling stops, the bar is aligned with the rows. */
const restMs = 150;

export interface Bar {
  scrollTop: number;
  readonly scrollHeight: number;
  readonly clientHeight: number;
}

/** A position in rows. Scrolling moves by pixels; dragging the bar of a very long list, by the bar's share. */
export class RowScroll {
  /** The first visible row; the fraction is hidden. */
  readonly top = signal(0);
  readonly count = signal(0);
  readonly rowHeight = signal(1);
  readonly height = signal(0);
  /** Pixels of the scrolled content. */
  readonly length = computed(() => Math.min(this.count.value * this.rowHeight.value, heightPixelsMax));
  readonly topMax = computed(() => Math.max(0, this.count.value - this.height.value / this.rowHeight.value));
  #bar: Bar | undefined;
  #scrolled = 0;
  #rest: ReturnType<typeof setTimeout> | undefined;

  attach(bar: Bar | undefined): void {
    this.#bar = bar;
    if (bar === undefined) clearTimeout(this.#rest);
  }

  get visible(): number {
    return Math.max(1, Math.floor(this.height.value / this.rowHeight.value));
  }

  scrollTo(index: number): void {
    this.#move(index);
    this.#alignBar();
  }

  /** Rows were added above: the visible ones stay in place. */
  moveBy(rows: number): void {
    this.count.value = Math.max(this.count.value, Math.ceil(this.top.value) + rows);
    this.scrollTo(this.top.value + rows);
  }

  reveal(index: number): void {
    const rows = this.height.value / this.rowHeight.value;
    if (index < this.top.value) this.scrollTo(index);
    else if (index + 1 > this.top.value + rows) this.scrollTo(index + 1 - rows);
  }

  /** After another count or height: stays in range. */
  clamp(): void {
    if (this.top.value > this.topMax.value) this.scrollTo(this.topMax.value);
  }

  onScroll(): void {
    if (this.#bar === undefined) return;
    const { scrollTop, clientHeight } = this.#bar;
    const delta = scrollTop - this.#scrolled;
    this.#scrolled = scrollTop;
    if (delta === 0) return;
    if (!this.#isScaled) return this.#move(scrollTop / this.rowHeight.value);
    const isNear = Math.abs(delta) <= 2 * clientHeight;
    const share = scrollTop / Math.max(1, this.#barMax);
    this.#move(isNear ? this.top.value + delta / this.rowHeight.value : share * this.topMax.value);
    clearTimeout(this.#rest);
    // The bar's end is not the list's end while rows are beyond it.
    if (scrollTop <= 0 || scrollTop >= this.#barMax - 1) this.#alignBar();
    else this.#rest = setTimeout(() => this.#alignBar(), restMs);
    return undefined;
  }

  get #isScaled(): boolean {
    return this.count.value * this.rowHeight.value > heightPixelsMax;
  }

  get #barMax(): number {
    return this.#bar === undefined ? 0 : this.#bar.scrollHeight - this.#bar.clientHeight;
  }

  #move(to: number): void {
    this.top.value = Math.max(0, Math.min(to, this.topMax.value));
  }

  #alignBar(): void {
    if (this.#bar === undefined) return;
    // Any access to the bar makes the browser lay out.
    if (this.top.value === 0 && this.#scrolled === 0) return;
    const share = this.topMax.value === 0 ? 0 : this.top.value / this.topMax.value;
    this.#bar.scrollTop = this.#isScaled ? share * this.#barMax : this.top.value * this.rowHeight.value;
    this.#scrolled = this.#bar.scrollTop;
  }
}
