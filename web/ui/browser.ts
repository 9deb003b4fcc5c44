import { type Signal, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { serverNow } from '../api/instant.ts';
import { session } from '../api/session.ts';

/** A choice that the browser keeps, if it can (private windows may throw); the first of `values` is the default. */
export function stored<T extends string>(name: string, values: readonly [T, ...T[]]): Signal<T> {
  const kept = tried(() => localStorage.getItem(name));
  const choice = signal(values.find((value) => value === kept) ?? values[0]);
  choice.subscribe((value) => tried(() => localStorage.setItem(name, value)));
  return choice;
}

function tried<T>(access: () => T): T | undefined {
  try {
    return access();
  } catch {
    // Not stored; the page works without.
    return undefined;
  }
}

/** `system` follows the system's setting. */
export const theme = stored('auditlog.theme', ['system', 'light', 'dark']);

theme.subscribe((value) => {
  document.documentElement.style.colorScheme = value === 'system' ? '' : value;
});

const lookMs = 30_000;

/** The server's time, updated now and then: "today" ends with the day in a tab left open. */
export const lately = signal(serverNow());
const look = () => {
  lately.value = serverNow();
};
setInterval(look, lookMs);
document.addEventListener('visibilitychange', look);
session.data.subscribe(look);

const narrow = matchMedia('(max-width: 45em)');

/** A phone, or large letters: rows have two lines, panels are pages. */
export const isNarrow = signal(narrow.matches);
narrow.addEventListener('change', () => {
  isNarrow.value = narrow.matches;
});

const print = matchMedia('print');

/** While printing, scrolling lists show all loaded rows. */
export const isPrinting = signal(print.matches);
const onPrint = (value: boolean) => {
  isPrinting.value = value;
  look();
};
print.addEventListener('change', ({ matches }) => onPrint(matches));
addEventListener('beforeprint', () => onPrint(true));
addEventListener('afterprint', () => onPrint(print.matches));

/** A shortcut that works outside fields. */
export function useKey(key: string, onPress: () => void): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isTyping =
        event.target instanceof Element && event.target.closest('input, select, textarea, dialog') !== null;
      if (event.key !== key || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
      event.preventDefault();
      onPress();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}

/** Downloads an address of this server, which may name the file. */
export function download(href: string, name = ''): void {
  // Without TLS only the referrer shows the service that its own page asks.
  followLink({ href, download: name, referrerPolicy: 'same-origin' });
}

export function openTab(href: string): void {
  followLink({ href, target: '_blank', rel: 'noopener' });
}

function followLink(attributes: Partial<HTMLAnchorElement>): void {
  Object.assign(document.createElement('a'), attributes).click();
}
