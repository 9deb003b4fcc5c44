import { useEffect, useState } from 'preact/hooks';
import { t, type TextKey } from './text.ts';

interface CountdownProps {
  /** A text with `{seconds}` in it. */
  readonly text: TextKey;
  /** Unix milliseconds. */
  readonly until: number;
  readonly values?: Readonly<Record<string, string | number>>;
}

const secondsTo = (until: number): number => Math.max(1, Math.ceil((until - Date.now()) / 1000));

/** Words that count the seconds down. */
export function Countdown({ text, until, values = {} }: CountdownProps) {
  const [seconds, setSeconds] = useState(secondsTo(until));
  useEffect(() => {
    setSeconds(secondsTo(until));
    const timer = setInterval(() => setSeconds(secondsTo(until)), 250);
    return () => clearInterval(timer);
  }, [until]);
  return <>{t(text, { ...values, seconds })}</>;
}
