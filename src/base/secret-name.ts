/** A member's name as it is compared with the names of secrets: lower case, without spaces, `_`, `-` and `.`. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[ _.-]/g, '');
}
