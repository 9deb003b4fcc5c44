/** The e-mail address of a pseudonym, in a domain that never has any mail (RFC 2606). */
export const addressOfPseudonym = (pseudonym: string): string => `${pseudonym}@erased.invalid`;
