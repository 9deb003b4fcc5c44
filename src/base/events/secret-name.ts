const unseen = /[\p{White_Space}\p{Cf}\p{Default_Ignorable_Code_Point}_.-]/gu;

/**
 * Lower case, without white space, zero-width characters, `_`, `-` and `.`, for comparison with names of
 * secrets.
 */
export const plainName = (name: string): string => name.toLowerCase().replace(unseen, '');
