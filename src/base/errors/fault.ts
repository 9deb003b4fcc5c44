/** Tells a sender what is wrong with a value: a JSON pointer and the rule. An empty pointer reads as `whole`. */
export function faultText(whole: string, pointer: string, rule: string): string {
  return pointer === '' ? `the ${whole} ${rule}` : `${pointer}: ${rule}`;
}
