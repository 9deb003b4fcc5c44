const domain = 'erased.invalid';

/** The e-mail address of a pseudonym, in a domain that never has any mail (RFC 2606). */
export const addressOfPseudonym = (pseudonym: string): string => `${pseudonym}@${domain}`;

/** Whether it is such an address: of an account whose person was erased. */
export const isAddressOfPseudonym = (email: string): boolean => email.endsWith(`@${domain}`);
