import { type Signal, signal } from '@preact/signals';

/**
 * A choice that the browser keeps, such as the theme. `values` are all there are; the first is the default. A browser
 * that keeps nothing (private windows may throw) has the default each time.
 */
export function stored<T extends string>(name: string, values: readonly [T, ...T[]]): Signal<T> {
  const choice = signal(values.find((value) => value === read(name)) ?? values[0]);
  choice.subscribe((value) => write(name, value));
  return choice;
}

function read(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Not kept then; the page works without.
  }
}
