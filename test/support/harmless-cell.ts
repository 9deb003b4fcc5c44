/** Of these a spreadsheet makes a formula when one is seen first in a cell. */
export const dangerous = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r'];

const isInvisible = (character: string) =>
  /[\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u.test(character);

/** A cell of a CSV export, by the rule in the plainest words there are: what is seen first, or a tab or carriage return. */
export function harmless(text: string): string {
  for (const character of text) {
    if (dangerous.includes(character)) return `'${text}`;
    if (!isInvisible(character)) return text;
  }
  return text;
}
