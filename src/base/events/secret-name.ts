const unseen = /[\p{White_Space}\p{Cf}\p{Default_Ignorable_Code_Point}_.-]/gu;

/**
 * A name as it is compared with names of secrets: lower case, without white space, zero-width characters, `_`, `-`
 * and `.`.
 */
export function plainName(name: string): string {
  return name.toLowerCase().replace(unseen, '');
}
