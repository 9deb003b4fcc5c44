/** An empty pointer reads as `whole`. */
export function faultText(whole: string, pointer: string, rule: string): string {
  return pointer === '' ? `the ${whole} ${rule}` : `${pointer}: ${rule}`;
}
