/** Controls, of direction as well, and all else without a shape of its own; but what joins letters and emoji. */
const shapeless = /(?!\t|\n|\u200c|\u200d|[\u{e0020}-\u{e007f}])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Spaces of all kinds, and letters that are drawn as nothing. */
const blanks = /^[\s\u115f\u1160\u2800\u3164\uffa0]+$/;

/** A text as it may be shown: what nobody could see has a mark in its place. */
export function markedText(text: string): string {
  if (blanks.test(text)) return '␣'.repeat(text.length);
  return text.replaceAll(
    shapeless,
    (one) => `[U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
  );
}

/** The text of JSON with the same characters as escapes, which mean the same. */
export function escapedJson(text: string): string {
  return text.replaceAll(shapeless, (one) =>
    one
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
