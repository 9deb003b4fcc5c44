/** A spreadsheet makes a formula of a cell that visibly begins with one. */
export const dangerous = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r'];

const isInvisible = (character: string) =>
  /[\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u.test(character);

/** A cell of a CSV export by the plain rule: its first visible character, or a tab or carriage return. */
export function harmless(text: string): string {
  for (const character of text) {
    if (dangerous.includes(character)) return `'${text}`;
    if (!isInvisible(character)) return text;
  }
  return text;
}
