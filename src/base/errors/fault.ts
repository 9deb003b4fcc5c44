/**
 * What is wrong with a value, in words for its sender: where, as a JSON pointer, and the rule. The pointer to all of it
 * is empty; then the words are about `whole`.
 */
export function faultText(whole: string, pointer: string, rule: string): string {
  return pointer === '' ? `the ${whole} ${rule}` : `${pointer}: ${rule}`;
}
