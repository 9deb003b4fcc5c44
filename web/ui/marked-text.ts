/** What has no shape of its own and may change how its neighbours look: controls, of direction as well, and joiners of nothing. */
const shapeless =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
/** Spaces of all kinds, and letters that are drawn as nothing. */
const blanks = /^[\s\u115f\u1160\u2800\u3164\uffa0]+$/;

/** A text as it may be shown: what nobody could see has a mark in its place. */
export function markedText(text: string): string {
  if (blanks.test(text)) return '␣'.repeat(text.length);
  return text.replaceAll(shapeless, (one) => `[U+${codeOf(one).toUpperCase()}]`);
}

/** The text of JSON with the same characters as escapes, which mean the same. */
export function escapedJson(text: string): string {
  return text.replaceAll(shapeless, (one) => `\\u${codeOf(one)}`);
}

function codeOf(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, '0');
}
