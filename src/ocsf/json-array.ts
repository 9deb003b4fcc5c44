import { backslash, closeBrace, closeBracket, comma, openBrace, openBracket, quote } from './json-cursor.ts';
import { limits } from './limits.ts';

/**
 * Passes the range of each element of the JSON array bytes[start, end), trailing white space included, to `onElement`. Scans
 * strings and brackets only: an invalid element affects only itself, and its reader finds the fault. Returns undefined, or the
 * array's own fault; the caller must then drop the elements passed before.
 */
export function splitArray(
  bytes: Uint8Array,
  start: number,
  end: number,
  onElement: (start: number, end: number) => void,
  ends?: ContainerEnds,
): string | undefined {
  const open = firstToken(bytes, start, end);
  if (open === end || bytes[open] !== openBracket) return `expected "[" at byte ${open - start}`;
  const first = firstToken(bytes, open + 1, end);
  const after = bytes[first] === closeBracket ? first + 1 : scanElements(bytes, first, end, onElement, ends);
  if (typeof after === 'string') return after;
  if (after < 0) return 'the array has no end';
  const next = firstToken(bytes, after, end);
  return next === end ? undefined : `expected nothing after the array, at byte ${next - start}`;
}

/** Like `splitArray`, for a piece of an array without brackets. */
export function splitElements(
  bytes: Uint8Array,
  start: number,
  end: number,
  onElement: (start: number, end: number) => void,
  ends?: ContainerEnds,
): string | undefined {
  let last = start;
  const onEach = (from: number, to: number): void => {
    onElement(from, to);
    last = to + 1;
  };
  const after = scanElements(bytes, start, end, onEach, ends);
  if (typeof after === 'string') return after;
  if (after >= 0) return `"]" without "[" at byte ${after - 1 - start}`;
  onElement(firstToken(bytes, last, end), end);
  return undefined;
}

export type ContainerEnds = ReadonlyMap<number, number>;

/** Bounded; other ends are scanned again. */
export function containerEnds(bytes: Uint8Array, start: number, end: number): ContainerEnds {
  const ends = new Map<number, number>();
  const open: number[] = [];
  for (let at = start; at < end; at++) {
    const code = bytes[at] as number;
    if (code === quote) {
      at++;
      while (at < end && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
    } else if (code === openBrace || code === openBracket) {
      if (open.length === limits.containersDepthMax || ends.size === limits.containersNotedMax) break;
      open.push(at);
    } else if (code === closeBrace || code === closeBracket) {
      const begin = open.pop();
      if (begin !== undefined) ends.set(begin, at);
    }
  }
  return ends;
}

/** -1 if the closing bracket is missing. */
function scanElements(
  bytes: Uint8Array,
  first: number,
  end: number,
  onElement: (start: number, end: number) => void,
  ends: ContainerEnds | undefined,
): number | string {
  let elementStart = first;
  let depth = 0;
  for (let at = first; at < end; at++) {
    const code = bytes[at] as number;
    if (code === quote) {
      at++;
      while (at < end && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
    } else if (code === openBrace || code === openBracket) {
      const close = ends?.get(at);
      if (close === undefined) depth++;
      else at = close;
    } else if (depth > 0) {
      if (code === closeBrace || code === closeBracket) depth--;
    } else if (code === closeBrace) {
      return `"}" without "{" at byte ${at}`;
    } else if (code === comma || code === closeBracket) {
      if (at === elementStart) return `expected a value at byte ${at}`;
      onElement(elementStart, at);
      if (code === closeBracket) return at + 1;
      elementStart = firstToken(bytes, at + 1, end);
      at = elementStart - 1;
    }
  }
  return -1;
}

export function firstToken(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && isSpace(bytes[at] as number)) at++;
  return at;
}

export function lastToken(bytes: Uint8Array, start: number, end: number): number {
  let at = end;
  while (at > start && isSpace(bytes[at - 1] as number)) at--;
  return at;
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
