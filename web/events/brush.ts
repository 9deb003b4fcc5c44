import { useState } from 'preact/hooks';

interface Choice {
  readonly from: number;
  readonly to: number;
}

/** Chooses adjacent bars by dragging, or with arrow keys, Shift and Enter. */
export function useBrush(count: number, onChoose: (first: number, last: number) => void) {
  const [hover, setHover] = useState<number>();
  const [choice, setChoice] = useState<Choice>();
  const within = (index: number) => Math.max(0, Math.min(count - 1, index));
  const indexAt = (event: PointerEvent) => {
    if (!(event.currentTarget instanceof Element)) return 0;
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return within(Math.floor(((event.clientX - left) / width) * count));
  };
  const choose = ({ from, to }: Choice) => {
    setChoice(undefined);
    setHover(undefined);
    onChoose(Math.min(from, to), Math.max(from, to));
  };
  const chosen = choice && {
    first: Math.min(choice.from, choice.to),
    count: Math.abs(choice.to - choice.from) + 1,
  };
  const handlers = {
    onPointerDown(event: PointerEvent) {
      if (count === 0 || event.button !== 0) return;
      if (event.currentTarget instanceof Element) event.currentTarget.setPointerCapture(event.pointerId);
      setChoice({ from: indexAt(event), to: indexAt(event) });
    },
    onPointerMove(event: PointerEvent) {
      if (count === 0) return;
      setHover(indexAt(event));
      if (choice !== undefined && event.buttons === 1) setChoice({ ...choice, to: indexAt(event) });
    },
    onPointerUp: () => choice !== undefined && choose(choice),
    onPointerCancel: () => setChoice(undefined),
    onPointerLeave: () => setHover(undefined),
    onBlur: () => setHover(undefined),
    onKeyDown(event: KeyboardEvent) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step !== undefined && count > 0) {
        const next = within((hover ?? (step > 0 ? -1 : count)) + step);
        setHover(next);
        setChoice(event.shiftKey ? { from: choice?.from ?? hover ?? next, to: next } : undefined);
      } else if (event.key === 'Enter' && hover !== undefined) choose(choice ?? { from: hover, to: hover });
      else if (event.key === 'Escape' && choice !== undefined) setChoice(undefined);
      else return;
      event.preventDefault();
    },
  };
  return { hover, chosen, handlers };
}
